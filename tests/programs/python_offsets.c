/* Whether runtime/recorder/python_layout.h has the offsets of this CPython's headers: prints each field that differs. */
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>

#if PY_VERSION_HEX >= 0x030b0000
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#endif

#include "python_layout.h"

static int wrong;

static void check(const char *field, size_t has, size_t is)
{
    if (has == is)
        return;
    printf("%s: %zu, expected %zu\n", field, has, is);
    wrong = 1;
}

#define IS(field, type, member) check(#field, of->field, offsetof(type, member))

int main(void)
{
    const struct python_layout *of = &python_layouts[PY_MINOR_VERSION - 8];
    check("minor", of->minor, PY_MINOR_VERSION);
    IS(code_file, PyCodeObject, co_filename);
#if PY_VERSION_HEX >= 0x030b0000
    IS(code_name, PyCodeObject, co_qualname);
    IS(code_bytes, PyCodeObject, co_code_adaptive);
    IS(thread_call, PyThreadState, cframe);
    IS(call_frame, _PyCFrame, current_frame);
    IS(call_outer, _PyCFrame, previous);
    IS(frame_code, _PyInterpreterFrame, f_code);
    IS(frame_outer, _PyInterpreterFrame, previous);
    IS(frame_last, _PyInterpreterFrame, prev_instr);
    IS(frame_is_entry, _PyInterpreterFrame, is_entry);
    check("thread_frame", of->thread_frame, 0);
#else
    IS(code_name, PyCodeObject, co_name);
    IS(thread_frame, PyThreadState, frame);
    IS(frame_code, PyFrameObject, f_code);
    IS(frame_outer, PyFrameObject, f_back);
    IS(frame_last, PyFrameObject, f_lasti);
    check("code_bytes, frame_is_entry, call_frame", of->code_bytes + of->frame_is_entry + of->call_frame, 0);
#if PY_VERSION_HEX >= 0x030a0000
    IS(thread_call, PyThreadState, cframe);
    IS(call_outer, CFrame, previous);
#else
    check("thread_call, call_outer", of->thread_call + of->call_outer, 0);
#endif
#endif
#if PY_VERSION_HEX >= 0x030a0000
    if (offsetof(PyThreadState, root_cframe) >= THREAD_BYTES)
        check("THREAD_BYTES", THREAD_BYTES, sizeof(PyThreadState));
#endif
    check("OBJECT_TYPE", OBJECT_TYPE, offsetof(PyObject, ob_type));
    check("TYPE_NAME", TYPE_NAME, offsetof(PyTypeObject, tp_name));
    check("TYPE_DEALLOC", TYPE_DEALLOC, offsetof(PyTypeObject, tp_dealloc));
    check("TEXT_LENGTH", TEXT_LENGTH, offsetof(PyASCIIObject, length));
    check("TEXT_STATE", TEXT_STATE, offsetof(PyASCIIObject, state));
    check("TEXT_OF_ASCII", TEXT_OF_ASCII, sizeof(PyASCIIObject));
    check("TEXT_OF_OTHERS", TEXT_OF_OTHERS, sizeof(PyCompactUnicodeObject));
    PyASCIIObject text = { .state = { .kind = 2 } };
    check("TEXT_KIND", *(unsigned *)&text.state >> TEXT_KIND_SHIFT & TEXT_KIND_MASK, 2);
    text = (PyASCIIObject){ .state = { .compact = 1, .ascii = 1 } };
    check("TEXT_COMPACT, TEXT_ASCII", *(unsigned *)&text.state, TEXT_COMPACT | TEXT_ASCII);
    return wrong;
}
