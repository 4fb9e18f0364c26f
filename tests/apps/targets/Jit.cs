// Keeps the jit and the loader at work: jit [pause=10]
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;

namespace Targets;

internal static unsafe class Jit
{
    private static long s_sink;

    public static void Start(Stage stage)
    {
        int pause = stage.Number("pause", 10);

        stage.Repeat("dynamic", pause, round => s_sink += MakeAdder(round)(1));
        stage.Repeat("generic", pause, InstantiateGeneric);
        stage.Repeat("unload", pause * 20, _ => LoadAndUnload());
        stage.Repeat("interop", pause, _ => CallNative());
        stage.Repeat("tiering", 1, _ => WarmUp());
    }

    private static Func<int, int> MakeAdder(int addend)
    {
        var method = new DynamicMethod($"Add{addend}", typeof(int), [typeof(int)]);
        ILGenerator code = method.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Ldc_I4, addend);
        code.Emit(OpCodes.Add);
        code.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int, int>>();
    }

    private record struct Wrapped<T>(T Value);

    private static string NameOf<T>() => typeof(Wrapped<T>).ToString();

    /// <summary>Code is shared among classes but not among structs: each nesting is compiled anew.</summary>
    private static void InstantiateGeneric(int round)
    {
        Type type = typeof(int);
        for (int i = 0; i < round % 30; i++)
            type = (i + round / 30) % 2 == 0
                ? typeof(Wrapped<>).MakeGenericType(type)
                : typeof(KeyValuePair<,>).MakeGenericType(type, typeof(byte));
        typeof(Jit).GetMethod(nameof(NameOf), BindingFlags.NonPublic | BindingFlags.Static)!
            .MakeGenericMethod(type).Invoke(null, null);
    }

    /// <summary>An unloaded context goes away only when collected, at the latest in the next round.</summary>
    private static void LoadAndUnload()
    {
        var context = new AssemblyLoadContext("sonde-collectible", isCollectible: true);
        Assembly copy = context.LoadFromAssemblyPath(typeof(Jit).Assembly.Location);
        copy.GetType(typeof(Jit).FullName!)!
            .GetMethod(nameof(CallNative), BindingFlags.NonPublic | BindingFlags.Static)!.Invoke(null, null);
        context.Unload();
        GC.Collect();
        GC.WaitForPendingFinalizers();
    }

    [DllImport("libc", EntryPoint = "getpid")]
    private static extern int GetProcessId();

    [DllImport("libc", EntryPoint = "strlen", CharSet = CharSet.Ansi)]
    private static extern nint Length(string text);

    private delegate int Comparison(int* left, int* right);

    [DllImport("libc", EntryPoint = "qsort")]
    private static extern void Sort(int* items, nint count, nint size, Comparison compare);

    /// <summary>Calls that need stubs: a plain one, one that converts text, one that is called back.</summary>
    private static void CallNative()
    {
        int* items = stackalloc int[] { 3, 1, 2 };
        Sort(items, 3, sizeof(int), (left, right) => *left - *right);
        s_sink += GetProcessId() + (long)Length("text") + items[0];
    }

    /// <summary>A loop long enough to be replaced while it runs, in a method hot enough for tier 1.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void WarmUp()
    {
        for (int i = 0; i < 60_000; i++)
            s_sink += i ^ s_sink;
    }
}
