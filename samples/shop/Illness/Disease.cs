// Something that can be wrong with the shop. Each is one file, and all can be cured. The methods that README.md names are not inlined: whoever
// looks for them finds them however long the shop has run.
namespace Shop.Illness;

internal abstract class Disease(string name, string about)
{
    private readonly object _gate = new();

    public string Name => name;
    public string About => about;
    public bool IsOn { get; private set; }

    public void Switch(bool on)
    {
        lock (_gate)
        {
            if (on == IsOn)
                return;
            if (on)
                Begin();
            else
                End();
            IsOn = on;
        }
    }

    protected abstract void Begin();

    protected abstract void End();

    /// <summary>Background threads: an ill shop must still be able to stop.</summary>
    protected static Thread StartThread(string name, Action body)
    {
        var thread = new Thread(() => body()) { Name = name, IsBackground = true };
        thread.Start();
        return thread;
    }
}

/// <summary>A disease that is a thread doing something wrong over and over.</summary>
internal abstract class LoopingDisease(string name, string about) : Disease(name, about)
{
    private volatile bool _isLooping;
    private Thread? _thread;

    protected abstract void Step();

    protected override void Begin()
    {
        _isLooping = true;
        _thread = StartThread(Name, () =>
        {
            while (_isLooping)
                Step();
        });
    }

    protected override void End()
    {
        _isLooping = false;
        _thread?.Join();
    }
}
