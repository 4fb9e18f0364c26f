// A program with one of everything that sequence points can be: straight code, an async method, an
// iterator, a lambda, a hidden point, a line from another document.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace Small;

internal static class Program
{
    private static int s_sum;

    private static async Task Main(string[] arguments)
    {
        foreach (int number in Numbers(arguments.Length))
            Add(number);
        await Task.Delay(1);
        Func<int, int> twice = number => 2 * number;
        Console.WriteLine(twice(s_sum));
    }

    private static IEnumerable<int> Numbers(int count)
    {
        for (int i = 0; i < count; i++)
            yield return i;
    }

    private static void Add(int number)
    {
        try
        {
            s_sum = checked(s_sum + number);
        }
        finally
        {
            s_sum &= 0xFFFF;
        }
#line 1000 "/src/generated/Made.cs"
        s_sum++;
#line default
        s_sum--;
    }
}
