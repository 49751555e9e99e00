// What a release would change in a cluster, field by field, from the server's dry run, so that server defaults do not count as differences.
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { inParallel } from '#lib/pool.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { refOf, refText } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { PARALLEL } from './act.ts'
import type { InstallContext } from './context.ts'
import type { InstallPlan } from './plan.ts'
import { VERSION_LABEL } from './release.ts'
import { writeReleased } from './write.ts'

const namespaceType = coreKind('Namespace')

/** Fields that the server writes with each change. */
const OF_SERVER: ReadonlySet<string> = new Set([
  'managedFields',
  'resourceVersion',
  'generation',
  'uid',
  'creationTimestamp',
])
/** Every object of a release has it: shown for each, it hides what changes. */
const OF_EACH_RELEASE = `.metadata.labels.${VERSION_LABEL}`
const MAX_VALUE = 120
const MOST_FIELDS = 40

type Leaves = ReadonlyMap<string, string>

/** Every value by its path: `.spec.replicas`. */
function leavesOf(value: unknown, path = ''): Leaves {
  if (Array.isArray(value))
    return merged(
      value.map((v, i) => leavesOf(v, `${path}[${i}]`)),
      path,
      '[]',
    )
  if (!isObject(value)) return new Map([[path, JSON.stringify(value) ?? 'null']])
  return merged(
    Object.entries(value).map(([k, v]) => leavesOf(v, `${path}.${k}`)),
    path,
    '{}',
  )
}

const merged = (parts: readonly Leaves[], path: string, empty: string): Leaves =>
  parts.length === 0 ? new Map([[path, empty]]) : new Map(parts.flatMap((p) => [...p]))

function withoutServerFields({ metadata, ...rest }: KubeObject): unknown {
  const { status: _, ...spec } = rest as { readonly status?: unknown }
  return { ...spec, metadata: Object.fromEntries(Object.entries(metadata).filter(([k]) => !OF_SERVER.has(k))) }
}

const cut = (text: string | undefined): string =>
  text === undefined ? '(none)' : text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text

/** Lines such as `  .spec.replicas: 2 → 3`. */
export function differences(before: KubeObject, after: KubeObject): readonly string[] {
  const [a, b] = [leavesOf(withoutServerFields(before)), leavesOf(withoutServerFields(after))]
  const isChanged = (p: string) => p !== OF_EACH_RELEASE && a.get(p) !== b.get(p)
  const paths = [...new Set([...a.keys(), ...b.keys()])].filter(isChanged).toSorted()
  const lines = paths.slice(0, MOST_FIELDS).map((p) => `  ${p}: ${cut(a.get(p))} → ${cut(b.get(p))}`)
  return paths.length > MOST_FIELDS ? [...lines, `  and ${paths.length - MOST_FIELDS} more`] : lines
}

interface ObjectDiff {
  /** One block, for an object that would be created or changed. */
  readonly lines: readonly string[]
  /** The object differs in the version of the release alone, which all of them carry. */
  readonly isOnlyVersion?: true
}

/** A block per object that would change, and counts of the others. Empty if nothing would. Writes nothing. */
export async function diffOf(context: InstallContext, plan: InstallPlan): Promise<readonly string[]> {
  const objects = plan.phases.flatMap((p) => p.groups.flat())
  const namespaces = namespaceReader(context)
  const found: ObjectDiff[] = []
  await inParallel(objects.entries(), PARALLEL, async ([at, object]) => {
    found[at] = await objectDiff(context, object, namespaces)
  })
  const onlyVersion = found.filter((d) => d.isOnlyVersion).length
  const same = found.filter((d) => d.lines.length === 0).length - onlyVersion
  const lines = [...found.flatMap((d) => d.lines), ...plan.prunes.map(({ ref }) => `- ${refText(ref)}`)]
  if (lines.length === 0 && onlyVersion === 0) return []
  return [
    ...lines,
    ...(onlyVersion === 0 ? [] : [`~ ${counted(onlyVersion, 'object')} with the label of the version alone`]),
    ...(same === 0 ? [] : [`  ${counted(same, 'object')} unchanged`]),
  ]
}

async function objectDiff(
  context: InstallContext,
  object: KubeObject,
  isMissing: (namespace: string) => Promise<boolean>,
): Promise<ObjectDiff> {
  const { client, types } = context
  const { namespace, name = '' } = object.metadata
  const text = refText(refOf(object))
  const type = await types.of(object.apiVersion, object.kind)
  const live = await client.get(type, { name, ...defined({ namespace }) })
  const created = live === undefined ? [`+ ${text}`] : []
  // A server cannot dry-run in a namespace that does not exist.
  if (namespace !== undefined && (await isMissing(namespace))) return { lines: created }
  const tried = await writeReleased(context, object, { dryRun: true })
  const changes = live === undefined ? [] : differences(live, tried)
  if (changes.length === 0)
    return {
      lines: created,
      ...(live !== undefined && versionOf(live) !== versionOf(tried) && { isOnlyVersion: true }),
    }
  return { lines: [`~ ${text}`, ...(object.kind === 'Secret' ? ['  (values of a Secret)'] : changes)] }
}

const versionOf = ({ metadata }: KubeObject): string | undefined => metadata.labels?.[VERSION_LABEL]

/** Each is read once. */
function namespaceReader({ client }: InstallContext): (name: string) => Promise<boolean> {
  const read = new Map<string, Promise<boolean>>()
  return (name) => {
    const known = read.get(name) ?? client.get(namespaceType, { name }).then((found) => found === undefined)
    read.set(name, known)
    return known
  }
}
