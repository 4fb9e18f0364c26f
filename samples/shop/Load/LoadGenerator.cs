// Customers: shop.dll load --url URL [--seconds 10] [--rate 0] [--workers 4]
//
// rate is requests a second of all workers together; 0 is as fast as answers come.
using System.Diagnostics;

namespace Shop.Load;

internal sealed class LoadGenerator
{
    private readonly Uri _url;
    private readonly TimeSpan _span;
    private readonly double _rate;
    private readonly int _workers;
    private readonly Stopwatch _clock = new();

    private sealed class Tally
    {
        public List<double> Milliseconds { get; } = [];
        public int Errors { get; set; }
    }

    private LoadGenerator(IConfiguration options)
    {
        _url = new Uri(options["url"]!);
        _span = TimeSpan.FromSeconds(options.GetValue("seconds", 10.0));
        _rate = options.GetValue("rate", 0.0);
        _workers = Math.Max(1, options.GetValue("workers", 4));
    }

    public static async Task<int> Run(string[] args)
    {
        IConfiguration options = new ConfigurationBuilder().AddCommandLine(args).Build();
        if (options["url"] is null)
        {
            Console.Error.WriteLine("usage: shop.dll load --url URL [--seconds N] [--rate R] [--workers W]");
            return 2;
        }
        return await new LoadGenerator(options).Run();
    }

    private async Task<int> Run()
    {
        using var client = new HttpClient { BaseAddress = _url, Timeout = TimeSpan.FromSeconds(30) };
        _clock.Start();
        var workers = Enumerable.Range(0, _workers).Select(i => Task.Run(() => Work(client, i)));
        return Report(await Task.WhenAll(workers));
    }

    private async Task<Tally> Work(HttpClient client, int worker)
    {
        var tally = new Tally();
        var random = new Random(worker);
        for (long i = 0; _clock.Elapsed < _span; i++)
        {
            TimeSpan due = await AwaitTurn(worker + i * _workers);
            if (due >= _span)
                break;
            if (!await Visit(client, random))
                tally.Errors++;
            tally.Milliseconds.Add((_clock.Elapsed - due).TotalMilliseconds);
        }
        return tally;
    }

    /// <summary>
    /// Returns when the request was due. Time is counted from there and not from the sending, or a
    /// shop that stalls would look good: the requests it held up would not count.
    /// </summary>
    private async Task<TimeSpan> AwaitTurn(long number)
    {
        if (_rate <= 0)
            return _clock.Elapsed;
        TimeSpan due = TimeSpan.FromSeconds(number / _rate);
        TimeSpan wait = due - _clock.Elapsed;
        if (wait > TimeSpan.Zero)
            await Task.Delay(wait);
        return due;
    }

    private static async Task<bool> Visit(HttpClient client, Random random)
    {
        try
        {
            using HttpResponseMessage answer = await Send(client, random);
            await answer.Content.ReadAsByteArrayAsync();
            return (int)answer.StatusCode < 500;
        }
        catch (Exception e) when (e is HttpRequestException or TaskCanceledException or IOException)
        {
            return false;
        }
    }

    /// <summary>Mostly looking, some buying; an order of none is one the shop must reject.</summary>
    private static Task<HttpResponseMessage> Send(HttpClient client, Random random)
    {
        int id = random.Next(1, 2001);
        return random.Next(100) switch
        {
            < 35 => client.GetAsync($"/products/{id}"),
            < 45 => client.GetAsync($"/products?page={id % 100}"),
            < 65 => client.GetAsync($"/price/{id}?quantity={random.Next(1, 150)}"),
            < 85 => client.GetAsync("/search?q=coper%20kettel"),
            < 98 => client.PostAsJsonAsync("/orders", new { ProductId = id, Quantity = random.Next(50) }),
            _ => client.GetAsync("/export"),
        };
    }

    private int Report(Tally[] tallies)
    {
        double[] sorted = tallies.SelectMany(tally => tally.Milliseconds).Order().ToArray();
        int errors = tallies.Sum(tally => tally.Errors);

        double p50 = Percentile(sorted, 0.50);
        double p99 = Percentile(sorted, 0.99);
        double perSecond = sorted.Length / _clock.Elapsed.TotalSeconds;
        Console.WriteLine(FormattableString.Invariant(
            $"requests={sorted.Length} errors={errors} per_second={perSecond:F0} p50_ms={p50:F2} p99_ms={p99:F2}"));
        return errors < sorted.Length ? 0 : 1;
    }

    private static double Percentile(double[] sorted, double share) =>
        sorted.Length == 0 ? 0 : sorted[Math.Min(sorted.Length - 1, (int)(sorted.Length * share))];
}
