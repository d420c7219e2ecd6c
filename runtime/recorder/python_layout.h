/* Where CPython keeps what the recorder reads of Python frames, by version: offsets in bytes on 64-bit systems. A version's
 * releases have one layout, which debuggers and profilers rely on too. PyObject's fields are those of a build without
 * Py_TRACE_REFS. */
#pragma once

#include <stdint.h>

/* 0 of an offset: the version has no such field. */
struct python_layout {
    uint8_t minor;           /* of 3.minor */
    uint8_t thread_frame;    /* PyThreadState.frame (cpython/pystate.h): the innermost frame */
    uint8_t thread_call;     /* PyThreadState.cframe (the same): lies in the C frame of the innermost run of the interpreter */
    uint8_t call_frame;      /* _PyCFrame.current_frame (the same): the innermost Python frame of that run */
    uint8_t call_outer;      /* CFrame.previous (the same): that of the run outside */
    uint8_t frame_code;      /* .f_code of PyFrameObject (frameobject.h) or _PyInterpreterFrame (internal/pycore_frame.h) */
    uint8_t frame_outer;     /* .f_back or .previous: the caller's frame */
    uint8_t frame_last;      /* .f_lasti, the number of the last instruction, or .prev_instr, its address */
    uint8_t frame_is_entry;  /* _PyInterpreterFrame.is_entry: a run of the interpreter began with it; 0: with each frame */
    uint8_t last_bytes;      /* of code for each number of an instruction */
    uint8_t code_file;       /* PyCodeObject.co_filename (cpython/code.h) */
    uint8_t code_name;       /* .co_qualname, or .co_name */
    uint8_t code_bytes;      /* .co_code_adaptive: the instructions, if .prev_instr points to them */
};

static const struct python_layout python_layouts[] = {
    { .minor = 8, .thread_frame = 24, .frame_code = 32, .frame_outer = 24, .frame_last = 104, .last_bytes = 1,
      .code_file = 104, .code_name = 112 },
    { .minor = 9, .thread_frame = 24, .frame_code = 32, .frame_outer = 24, .frame_last = 104, .last_bytes = 1,
      .code_file = 104, .code_name = 112 },
    { .minor = 10, .thread_frame = 24, .thread_call = 48, .call_outer = 8, .frame_code = 32, .frame_outer = 24,
      .frame_last = 96, .last_bytes = 2, .code_file = 104, .code_name = 112 },
    { .minor = 11, .thread_call = 56, .call_frame = 8, .call_outer = 16, .frame_code = 32, .frame_outer = 48,
      .frame_last = 56, .frame_is_entry = 68, .code_file = 112, .code_name = 128, .code_bytes = 184 },
};

/* Of all of them: PyObject.ob_type (object.h), PyTypeObject.tp_name and .tp_dealloc (cpython/object.h), and of a string
 * (cpython/unicodeobject.h) PyASCIIObject.length and .state, and where the characters begin. */
enum {
    THREAD_BYTES = 360, /* of PyThreadState, in which the first run lies (.root_cframe) */
    OBJECT_TYPE = 8,
    TYPE_NAME = 24,
    TYPE_DEALLOC = 48,
    TEXT_LENGTH = 16,
    TEXT_STATE = 32, /* 2 or 3 bits; 3 bits: the bytes of a character; 1: they lie behind the object; 1: all are ASCII */
    TEXT_KIND_SHIFT = 2,
    TEXT_KIND_MASK = 7,
    TEXT_COMPACT = 1 << 5,
    TEXT_ASCII = 1 << 6,
    TEXT_OF_ASCII = 48,
    TEXT_OF_OTHERS = 72,
};
