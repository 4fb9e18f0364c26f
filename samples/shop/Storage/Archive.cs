// Keeps orders in a file, packs it when it has grown, and exports the goods: file and native work.
using System.IO.Compression;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using Shop.Catalog;

namespace Shop.Storage;

internal sealed class Archive : IDisposable
{
    private const long PackAtBytes = 256 * 1024;

    private readonly string _folder = Directory.CreateTempSubdirectory("shop-").FullName;
    private readonly SemaphoreSlim _turn = new(1);

    private string Journal => Path.Combine(_folder, "orders.txt");

    public async Task Append(string line)
    {
        await _turn.WaitAsync();
        try
        {
            await File.AppendAllTextAsync(Journal, line + "\n");
            if (new FileInfo(Journal).Length > PackAtBytes)
                await Pack();
        }
        finally
        {
            _turn.Release();
        }
    }

    /// <summary>The goods as packed JSON, and the hash of it.</summary>
    public static (byte[] Packed, string Hash) Export(IEnumerable<Product> products)
    {
        using var packed = new MemoryStream();
        using (var brotli = new BrotliStream(packed, CompressionLevel.Optimal, leaveOpen: true))
            JsonSerializer.Serialize(brotli, products);
        byte[] bytes = packed.ToArray();
        return (bytes, Convert.ToHexString(SHA256.HashData(bytes)));
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    /// <summary>Only the latest pack is kept: a sample must not fill a disk.</summary>
    private async Task Pack()
    {
        byte[] text = await File.ReadAllBytesAsync(Journal);
        await using (FileStream file = File.Create(Path.Combine(_folder, "orders.gz")))
        await using (var gzip = new GZipStream(file, CompressionLevel.SmallestSize))
            await gzip.WriteAsync(text);
        string hash = Convert.ToHexString(SHA512.HashData(text));
        await File.WriteAllTextAsync(Path.Combine(_folder, "orders.sha512"), hash, Encoding.ASCII);
        File.Delete(Journal);
    }
}
