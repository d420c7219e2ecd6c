# Debian's headless Java runs a script with BeanShell. $1: words before the command.
$1 java -Xms64m -Xmx64m -XX:+AlwaysPreTouch -XX:+UnlockDiagnosticVMOptions -XX:NativeMemoryTracking=summary \
  -XX:+PrintNMTStatistics -cp /usr/share/java/bsh.jar bsh.Interpreter native.bsh > native.log 2> error.log
head -n 1 native.log
