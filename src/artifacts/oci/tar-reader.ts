// Reads a tar of a Debian or npm package into memory.
import { readEntries } from './archive-entries.ts'
import type { TarEntry } from './tar-entry.ts'
import type { Refuse } from './unpacked-stream.ts'

/** Skips devices: no package of the image has any. */
export async function entriesOf(archive: AsyncIterable<Buffer>, refuse: Refuse): Promise<readonly TarEntry[]> {
  const entries: TarEntry[] = []
  await readEntries(archive, refuse, ({ path, kind, mode, target }) => {
    if (kind === 'Folder') entries.push({ kind, path, mode })
    else if (kind === 'Link') entries.push({ kind, path, target })
    // A second name of the same file; a link keeps the layer small.
    else if (kind === 'HardLink') entries.push({ kind: 'Link', path, target: `/${target.replace(/^\.?\//, '')}` })
    if (kind !== 'File') return undefined
    const chunks: Buffer[] = []
    // Concatenated once, because layers read it several times.
    const content = () => (chunks.splice(0, chunks.length, Buffer.concat(chunks)), chunks[0] ?? Buffer.alloc(0))
    entries.push({ kind, path, mode, content })
    return (chunk) => chunks.push(chunk)
  })
  return entries
}
