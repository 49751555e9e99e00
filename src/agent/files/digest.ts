// The content of a file as one digest.
import { createHash } from 'node:crypto'
import type { Files } from './port.ts'

export async function digestOf(files: Files, path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of files.stream(path)) hash.update(chunk)
  return hash.digest('hex')
}
