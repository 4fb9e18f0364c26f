// A program that is one file, published single-file or ahead of time: computes in managed code until it is told to end.
//
// Prints "ready pid=<pid>", then runs until stdin ends or, with a number, for as many seconds.
using System.Runtime.CompilerServices;

namespace Lone;

internal static class Program
{
    private static long s_sink;
    private static volatile bool s_stop;

    private static int Main(string[] args)
    {
        Console.Out.Write($"ready pid={Environment.ProcessId}\n");
        var spinner = new Thread(Spin) { Name = "spinner" };
        spinner.Start();
        if (args.Length > 0)
            Thread.Sleep(int.Parse(args[0]) * 1000);
        else
            while (Console.In.Read() >= 0)
                continue;
        s_stop = true;
        spinner.Join();
        return s_sink == 42 ? 1 : 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Spin()
    {
        while (!s_stop)
            s_sink += Churn(2_000_000);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Churn(int rounds)
    {
        ulong state = 88172645463325252;
        for (int i = 0; i < rounds; i++)
        {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        return (long)state;
    }
}
