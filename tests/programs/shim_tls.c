/* A library with TLS_BYTES of initial-exec TLS, which leave less of the static TLS to those that are opened after it. */
#ifndef TLS_BYTES
#define TLS_BYTES 32
#endif

static __thread int block[TLS_BYTES / sizeof(int)] __attribute__((tls_model("initial-exec"))) = { 4711 };

int *shim_tls(void)
{
    return block;
}
