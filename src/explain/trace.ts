// Where an object comes from: the commit that last changed it, and which client owns which of its fields since when. Pure.
import type { Release } from '#api/kinds/release.ts'
import { commitText, titledCommit } from '#api/protocol/commit-title.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject, ManagedFieldsEntry } from '#api/schema/object.ts'

/** The first levels of a field set, as paths in the usual form: `spec.replicas`, `status`. */
function topFields(entry: ManagedFieldsEntry): readonly string[] {
  const out: string[] = []
  for (const [group, inner] of Object.entries(entry.fieldsV1 ?? {})) {
    const name = group.replace(/^f:/, '')
    const below =
      typeof inner === 'object' && inner !== null ? Object.keys(inner).filter((k) => k.startsWith('f:')) : []
    if (name === 'status' || below.length === 0) out.push(name)
    else out.push(...below.map((k) => `${name}.${k.slice(2)}`))
  }
  return out
}

/** The commit recorded on an object that a program made for something in git. */
function carriedCommit({ spec }: KubeObject): string | undefined {
  const commit = isObject(spec) ? spec['commit'] : undefined
  return typeof commit === 'string' ? commit : undefined
}

function commitLines(commit: string, releases: readonly Release[]): readonly string[] {
  const [short, titled] = [commitText(commit, {}), titledCommit(commit, releases)]
  return [`commit ${commit} (git show ${short})`, ...(titled === short ? [] : [`  ${titled}`])]
}

const commitOf = (object: KubeObject): string | undefined =>
  object.metadata.annotations?.[ANNOTATIONS.commit] ?? carriedCommit(object)

/** The same for programs. */
export interface Trace {
  /** `node/n-17`. */
  readonly object: string
  readonly commit?: string
  /** Subject line of the commit, where a Release has it. */
  readonly subject?: string
  readonly owners: readonly string[]
  /** A recorded object has none. */
  readonly writers: readonly Writer[]
}

interface Writer {
  readonly manager: string
  readonly operation: string
  readonly subresource?: string
  readonly time?: string
  readonly fields: readonly string[]
}

export function traceOf(object: KubeObject, releases: readonly Release[] = []): Trace {
  const commit = commitOf(object)
  return {
    object: labelOf(object),
    ...defined({ commit, subject: releases.find((r) => r.spec.commit === commit)?.spec.subject }),
    owners: (object.metadata.ownerReferences ?? []).map((r) => `${r.kind.toLowerCase()}/${r.name}`),
    writers: (object.metadata.managedFields ?? []).map((e) => ({
      manager: e.manager ?? '',
      operation: e.operation ?? '',
      ...defined({ subresource: e.subresource, time: e.time }),
      fields: topFields(e),
    })),
  }
}

const labelOf = ({ kind, metadata }: KubeObject): string => `${kind.toLowerCase()}/${metadata.name ?? ''}`

const MOST_FIELDS = 6

export function traceLines(object: KubeObject, releases: readonly Release[] = []): readonly string[] {
  const commit = commitOf(object)
  const owners = (object.metadata.ownerReferences ?? []).map((r) => `owned by ${r.kind.toLowerCase()}/${r.name}`)
  const writers = (object.metadata.managedFields ?? []).map((e) => {
    const paths = topFields(e)
    const shown =
      paths.length > MOST_FIELDS ? [...paths.slice(0, MOST_FIELDS), `and ${paths.length - MOST_FIELDS} more`] : paths
    return `${e.time ?? ''}  ${(e.manager ?? '').padEnd(24)} ${e.operation}${e.subresource === undefined ? '' : ` ${e.subresource}`}  ${shown.join(', ')}`
  })
  return [
    labelOf(object),
    ...(commit === undefined ? ['no commit: not applied from git'] : commitLines(commit, releases)),
    ...owners,
    // A recorded object has none.
    ...(writers.length === 0 ? [] : ['last writers of its fields:', ...writers.map((w) => `  ${w}`)]),
  ]
}
