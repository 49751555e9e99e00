// Where an object comes from: the commit that last changed it, and which client owns which of its fields since when. Pure.
import type { Release } from '#api/kinds/release.ts'
import { commitText, titledCommit } from '#api/protocol/commit-title.ts'
import { ANNOTATIONS } from '#api/names.ts'
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

const MOST_FIELDS = 6

export function traceLines(object: KubeObject, releases: readonly Release[] = []): readonly string[] {
  const commit = object.metadata.annotations?.[ANNOTATIONS.commit] ?? carriedCommit(object)
  const owners = (object.metadata.ownerReferences ?? []).map((r) => `owned by ${r.kind.toLowerCase()}/${r.name}`)
  const writers = (object.metadata.managedFields ?? []).map((e) => {
    const paths = topFields(e)
    const shown =
      paths.length > MOST_FIELDS ? [...paths.slice(0, MOST_FIELDS), `and ${paths.length - MOST_FIELDS} more`] : paths
    return `${e.time ?? ''}  ${(e.manager ?? '').padEnd(24)} ${e.operation}${e.subresource === undefined ? '' : ` ${e.subresource}`}  ${shown.join(', ')}`
  })
  return [
    `${object.kind.toLowerCase()}/${object.metadata.name ?? ''}`,
    ...(commit === undefined ? ['no commit: not applied from git'] : commitLines(commit, releases)),
    ...owners,
    // A recorded object has none.
    ...(writers.length === 0 ? [] : ['last writers of its fields:', ...writers.map((w) => `  ${w}`)]),
  ]
}
