// Reads what a tar archive contains, with all forms of long names.
import { Parser, type ReadEntry } from 'tar'
import type { TarEntry } from './tar-entry.ts'

/** Devices and names above the root are left out: no package of the image has them. */
export async function entriesOf(archive: Buffer): Promise<readonly TarEntry[]> {
  const entries: TarEntry[] = []
  await new Promise<void>((done, fail) => {
    const parser = new Parser({ strict: true, onReadEntry: (entry) => collect(entry, entries) })
    parser.on('end', done)
    parser.on('error', fail)
    parser.end(archive)
  })
  return entries
}

function collect(entry: ReadEntry, into: TarEntry[]): void {
  const path = entry.path.replace(/^\.?\//, '').replace(/\/$/, '')
  const mode = (entry.mode ?? 0) & 0o7777
  const chunks: Buffer[] = []
  entry.on('data', (chunk: Buffer) => chunks.push(chunk))
  entry.on('end', () => {
    if (path === '' || path === '.' || path.split('/').includes('..')) return
    if (entry.type === 'Directory') into.push({ kind: 'Folder', path, mode })
    else if (entry.type === 'SymbolicLink') into.push({ kind: 'Link', path, target: entry.linkpath ?? '' })
    // A second name of the same file; a link keeps the layer small.
    else if (entry.type === 'Link') into.push(hardLink(path, entry.linkpath ?? ''))
    else if (entry.type === 'File' || entry.type === 'OldFile') {
      const content = Buffer.concat(chunks)
      into.push({ kind: 'File', path, mode, content: () => content })
    }
  })
}

const hardLink = (path: string, to: string): TarEntry => ({
  kind: 'Link',
  path,
  target: `/${to.replace(/^\.?\//, '')}`,
})
