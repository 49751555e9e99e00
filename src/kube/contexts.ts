// The contexts of kubeconfig files, read without using one: for completion, and to tell which file has the context that was typed.
import { readFile, stat } from 'node:fs/promises'
import { parseDocuments } from '#lib/documents.ts'
import { isObject } from '#lib/json.ts'

/** Larger files are no kubeconfigs. */
const MAX_BYTES = 1024 * 1024
const MAX_NAME_CHARS = 253

/** A file that cannot be read has none. */
export async function contextsIn(files: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(files.map((file) => contextsOf(file).catch(() => [])))
  return [...new Set(found.flat())]
}

/** Throws what the operating system says of the file. */
export async function contextsOf(file: string): Promise<readonly string[]> {
  const { size } = await stat(file)
  return size > MAX_BYTES ? [] : contextsInText(await readFile(file, 'utf8'))
}

export function contextsInText(text: string): readonly string[] {
  const [document] = parseDocuments(text, { refuseAliases: true }).documents
  const value: unknown = document?.value
  const contexts = isObject(value) && Array.isArray(value['contexts']) ? (value['contexts'] as readonly unknown[]) : []
  return contexts.flatMap((c) => (isObject(c) && isName(c['name']) ? [c['name']] : []))
}

const isName = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= MAX_NAME_CHARS && /^[\x21-\x7e]+$/.test(name)
