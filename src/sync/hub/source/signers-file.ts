// Reads the signers file of a commit: YAML or JSON, within limits. Does not judge its content.
import { shortCommit } from '#api/protocol/commit-title.ts'
import { messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type { LocalRepository } from '../../git/local-repository.ts'
import { parseLinks } from '../../trust/signed-object.ts'
import { parseDocument } from 'yaml'

export interface SignersFile {
  readonly path: string
  readonly value: unknown
  readonly problem?: string
}

/** Room for a thousand keys. */
const MAX_BYTES = 512 * 1024

/** Undefined when the commit has no such file: then only the signers in the FleetSource count. */
export function readSignersFile(
  repository: Pick<LocalRepository, 'commitBytes' | 'treeEntries' | 'fileBytes'>,
  commit: string,
  path: string,
): SignersFile | undefined {
  const where = `${path} of commit ${shortCommit(commit)}`
  let [tree, rest]: [string, readonly string[]] = [parseLinks(repository.commitBytes(commit)).tree, path.split('/')]
  for (;;) {
    const [name, ...below] = rest
    const entry = repository.treeEntries(tree, where).find((e) => e.name === name)
    if (entry === undefined) return undefined
    if (below.length > 0) {
      if (entry.kind !== 'tree') return undefined
      ;[tree, rest] = [entry.oid, below]
      continue
    }
    if (entry.kind !== 'file') return { path, value: undefined, problem: `is a ${entry.kind}` }
    return { path, ...parsed(repository.fileBytes(entry.oid, where)) }
  }
}

function parsed(bytes: Uint8Array): Pick<SignersFile, 'value' | 'problem'> {
  if (bytes.length > MAX_BYTES) return { value: undefined, problem: `has ${bytes.length} bytes (limit ${MAX_BYTES})` }
  try {
    // No aliases: a small file must not expand to a large value.
    const document = parseDocument(Buffer.from(bytes).toString('utf8'), { uniqueKeys: true })
    const [error] = document.errors
    if (error !== undefined) throw error
    return { value: document.toJS({ maxAliasCount: 0 }) }
  } catch (error) {
    return { value: undefined, problem: printableLine(`is not valid: ${messageOf(error).split('\n')[0] ?? ''}`) }
  }
}
