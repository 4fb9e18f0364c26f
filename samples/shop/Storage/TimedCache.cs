// Remembers values for a while. One plain lock guards it all, on purpose: it is there to be contended.
namespace Shop.Storage;

internal sealed class TimedCache<TKey, TValue>(int capacity, TimeSpan life) where TKey : notnull
{
    private readonly object _gate = new();
    private readonly Dictionary<TKey, (TValue Value, long DiesAt)> _entries = [];

    public TValue GetOrAdd(TKey key, Func<TKey, TValue> make)
    {
        long now = Environment.TickCount64;
        lock (_gate)
            if (_entries.TryGetValue(key, out var entry) && entry.DiesAt > now)
                return entry.Value;

        TValue made = make(key);
        lock (_gate)
        {
            if (_entries.Count >= capacity)
                _entries.Clear();
            _entries[key] = (made, now + (long)life.TotalMilliseconds);
        }
        return made;
    }
}
