/* Starts a process without waiting for it, in the control group that it is for.
 *
 * posix_spawn keeps the caller waiting until the child has become its program, and knows no groups:
 * the caller has to go into the group first, and each such way costs the kernel more than most of
 * the start. Here the child is born in its group (CLONE_INTO_CGROUP), and the caller goes on.
 *
 * Until it has become its program the child uses our memory (CLONE_VM) beside us. So it has a stack
 * of its own, reads what was laid ready in its `birth`, writes nothing but the fields below, and
 * does system calls only: whatever else the C library does may be half done in our threads. Its
 * signal handlers are gone (CLONE_CLEAR_SIGHAND). When it lets go of our memory, by its program or
 * by its end, the kernel sets `alive` to 0 (CLONE_CHILD_CLEARTID); then the `birth` may go.
 *
 * One that cannot become its program ends with 127, and `failure` tells why. It also tells of one
 * that was killed before it did anything: the kernel has a reason of its own for that.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if !defined(__linux__) || !defined(__x86_64__) || !defined(__LP64__)
#error "only for Linux on x86_64: elsewhere tasks are started by posix_spawn"
#endif

/* Of the kernel's interface; headers may be older than the kernel. */
#define VM 0x100ULL
#define VFORK 0x4000ULL
#define CHILD_CLEARTID 0x200000ULL
#define CLEAR_SIGHAND 0x100000000ULL
#define INTO_CGROUP 0x200000000ULL
#define CLONE3 435
#define CLOSE_RANGE 436

struct arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    uint64_t set_tid, set_tid_size, cgroup;
};

struct action {
    uint64_t handler, flags, restorer, mask;
};

enum { STACK = 4096, UMASK = 022, FAILED = 127, NEVER_LIVED = -1 };

struct birth {
    struct birth *next;
    int pid;
    volatile int alive;
    volatile int error; /* NEVER_LIVED until it has done anything */
    volatile int in_folder; /* whether the error is about the working directory */
    int files[3];
    int has_limit;
    struct rlimit limit;
    struct action as_usual;
    const char *path, *folder;
    char **argv, **env;
    char stack[STACK] __attribute__((aligned(16)));
    char words[]; /* argv, env and all that they point to */
};

/* Those that use our memory still, or failed and were not asked why. */
static struct birth *births;

/* --- the child ---------------------------------------------------------------------------- */

static inline long call(long number, long a, long b, long c, long d)
{
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

static long prepare(struct birth *birth)
{
    long result;

    birth->error = 0;
    call(SYS_setsid, 0, 0, 0, 0);
    for (int number = 0; number < 3; number++) {
        result = call(SYS_dup2, birth->files[number], number, 0, 0);
        if (result < 0)
            return result;
    }
    /* Its program may be long in coming, and nobody shall wait for our locks and sockets. */
    call(CLOSE_RANGE, 3, (unsigned int)-1, 0, 0);
    call(SYS_umask, UMASK, 0, 0, 0);
    /* Python ignores these two, and what is ignored stays so. */
    call(SYS_rt_sigaction, SIGPIPE, (long)&birth->as_usual, 0, sizeof birth->as_usual.mask);
    call(SYS_rt_sigaction, SIGXFSZ, (long)&birth->as_usual, 0, sizeof birth->as_usual.mask);
    if (birth->has_limit)
        call(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&birth->limit, 0);
    result = call(SYS_chdir, (long)birth->folder, 0, 0, 0);
    birth->in_folder = result < 0;
    return result;
}

__attribute__((noreturn, used)) static void become(struct birth *birth)
{
    long result = prepare(birth);

    if (result >= 0)
        result = call(SYS_execve, (long)birth->path, (long)birth->argv, (long)birth->env, 0);
    birth->error = (int)-result;
    for (;;)
        call(SYS_exit_group, FAILED, 0, 0, 0);
}

/* --- the caller --------------------------------------------------------------------------- */

static long give_birth(struct birth *birth, uint64_t flags, int group)
{
    long result;
    struct arguments arguments = {
        .flags = flags | VM | CHILD_CLEARTID | CLEAR_SIGHAND,
        .child_tid = (uintptr_t)&birth->alive,
        .exit_signal = SIGCHLD,
        .stack = (uintptr_t)birth->stack,
        .stack_size = STACK,
    };

    if (group >= 0) {
        arguments.flags |= INTO_CGROUP;
        arguments.cgroup = (uint64_t)group;
    }
    /* The child comes back on its own empty stack, so it must not return. */
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "mov %[birth], %%rdi\n\t"
                     "call *%[become]\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"((long)CLONE3), "D"(&arguments), "S"(sizeof arguments),
                       [birth] "r"(birth), [become] "r"(become)
                     : "rcx", "r11", "memory");
    return result;
}

/* Let go of those that are born, and of what a process that had this number before failed at. */
static void forget(int pid)
{
    struct birth **place = &births;

    while (*place) {
        struct birth *birth = *place;
        if (birth->alive || (birth->error && birth->pid != pid)) {
            place = &birth->next;
        } else {
            *place = birth->next;
            free(birth);
        }
    }
}

static struct birth *find(int pid)
{
    struct birth *birth = births;

    while (birth && birth->pid != pid)
        birth = birth->next;
    return birth;
}

/* Add the words of a sequence, as bytes. */
static int add_words(PyObject *words, PyObject *texts)
{
    Py_ssize_t count = PySequence_Size(texts);

    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *word = NULL, *text = PySequence_GetItem(texts, index);
        int failed = !text || !PyUnicode_FSConverter(text, &word) || PyList_Append(words, word);
        Py_XDECREF(text);
        Py_XDECREF(word);
        if (failed)
            return -1;
    }
    return count < 0 ? -1 : 0;
}

/* Lay ready what the child reads: path, folder, then argv and env, each with a null at its end. */
static struct birth *lay_ready(PyObject *words, Py_ssize_t argc)
{
    Py_ssize_t count = PyList_Size(words), size = 0;
    struct birth *birth;
    char **vector, *text;

    for (Py_ssize_t index = 0; index < count; index++)
        size += PyBytes_Size(PyList_GetItem(words, index)) + 1;
    size += (Py_ssize_t)sizeof *birth + count * (Py_ssize_t)sizeof *vector;
    if (posix_memalign((void **)&birth, 64, (size_t)size)) {
        PyErr_NoMemory();
        return NULL;
    }
    memset(birth, 0, offsetof(struct birth, stack));
    vector = (char **)birth->words;
    text = (char *)(vector + count); /* Two nulls for two words that are in no vector. */
    birth->argv = vector;
    birth->env = vector + argc + 1;
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *word = PyList_GetItem(words, index);
        size_t length = (size_t)PyBytes_Size(word) + 1;
        memcpy(text, PyBytes_AsString(word), length);
        if (index == 0)
            birth->path = text;
        else if (index == 1)
            birth->folder = text;
        else
            *vector++ = text;
        if (index == 1 + argc)
            *vector++ = NULL;
        text += length;
    }
    *vector = NULL;
    birth->alive = 1;
    birth->error = NEVER_LIVED;
    return birth;
}

static PyObject *bear(PyObject *module, PyObject *given)
{
    PyObject *path, *folder, *argv, *env, *words, *limit, *first;
    struct birth *birth = NULL;
    int files[3], group, waits;
    long pid;
    (void)module;

    if (!PyArg_ParseTuple(given, "UUOO(iii)Oip:bear", &path, &folder, &argv, &env, &files[0],
                          &files[1], &files[2], &limit, &group, &waits))
        return NULL;
    words = PyList_New(0);
    first = PyTuple_Pack(2, path, folder);
    if (words && first && !add_words(words, first) && !add_words(words, argv) &&
        !add_words(words, env))
        birth = lay_ready(words, PySequence_Size(argv));
    Py_XDECREF(words);
    Py_XDECREF(first);
    if (!birth)
        return NULL;
    memcpy(birth->files, files, sizeof files);
    if (limit != Py_None) {
        long long soft, hard;
        if (!PyArg_ParseTuple(limit, "LL", &soft, &hard)) {
            free(birth);
            return NULL;
        }
        birth->has_limit = 1;
        birth->limit.rlim_cur = (rlim_t)soft;
        birth->limit.rlim_max = (rlim_t)hard;
    }
    pid = give_birth(birth, waits ? VFORK : 0, group);
    if (pid < 0) {
        free(birth);
        errno = (int)-pid;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    forget((int)pid);
    birth->pid = (int)pid;
    birth->next = births;
    births = birth;
    return PyLong_FromLong(pid);
}

static PyObject *failure(PyObject *module, PyObject *number)
{
    int pid = (int)PyLong_AsLong(number);
    struct birth *birth = find(pid);
    PyObject *found;
    (void)module;

    if (PyErr_Occurred())
        return NULL;
    if (!birth || birth->alive || !birth->error)
        Py_RETURN_NONE;
    found = Py_BuildValue("(iN)", birth->error,
                          PyUnicode_DecodeFSDefault(birth->in_folder ? birth->folder : birth->path));
    forget(pid);
    return found;
}

static PyObject *has_begun(PyObject *module, PyObject *number)
{
    int pid = (int)PyLong_AsLong(number);
    struct birth *birth = find(pid);
    (void)module;

    if (PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(!birth || (!birth->alive && !birth->error));
}

/* No group has this number: a kernel that knows groups says so, another says something else. One
 * that was built without groups starts the process; we wait for its end, on the same stack. */
static PyObject *is_known(PyObject *module, PyObject *nothing)
{
    struct arguments arguments = {.flags = VM | VFORK | CLEAR_SIGHAND | INTO_CGROUP,
                                  .exit_signal = SIGCHLD};
    long result;
    (void)module, (void)nothing;

    arguments.cgroup = INT32_MAX;
    result = call(CLONE3, (long)&arguments, sizeof arguments, 0, 0);
    if (result == 0)
        for (;;)
            call(SYS_exit_group, 0, 0, 0, 0);
    if (result > 0)
        call(SYS_wait4, result, 0, 0, 0);
    return PyBool_FromLong(result == -EBADF);
}

static PyMethodDef methods[] = {
    {"bear", bear, METH_VARARGS,
     "bear(path, folder, argv, env, files, limit, group, waits)\n--\n\n"
     "Start a program; return its pid."},
    {"failure", failure, METH_O,
     "failure(pid)\n--\n\nReturn why one that has ended with 127 did not become its program."},
    {"has_begun", has_begun, METH_O,
     "has_begun(pid)\n--\n\nTell whether a process has become its program."},
    {"is_known", is_known, METH_NOARGS,
     "is_known()\n--\n\nTell whether this kernel can do it, and lets us."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_birth", "Starts processes in their control groups.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__birth(void)
{
    return PyModule_Create(&definition);
}
