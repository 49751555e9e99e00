// The contexts of kubeconfig files, read without connecting: for completion, and to find the file that has the typed context.
import { readFile, stat } from 'node:fs/promises'
import { parseDocuments } from '#lib/documents.ts'
import { isObject } from '#lib/json.ts'

/** Larger files are not kubeconfigs. */
const MAX_BYTES = 1024 * 1024
const MAX_NAME_CHARS = 253

/** An unreadable file has none. */
export async function contextsIn(files: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(files.map((file) => contextsOf(file).catch(() => [])))
  return [...new Set(found.flat())]
}

/** Throws the operating system's error. */
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
