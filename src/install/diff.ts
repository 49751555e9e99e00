// What a release would change in a cluster, field by field, from the server's dry run, so that server defaults do not count as differences.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { refOf, refText } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { InstallContext } from './context.ts'
import type { InstallPlan } from './plan.ts'
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
  const paths = [...new Set([...a.keys(), ...b.keys()])].filter((p) => a.get(p) !== b.get(p)).toSorted()
  const lines = paths.slice(0, MOST_FIELDS).map((p) => `  ${p}: ${cut(a.get(p))} → ${cut(b.get(p))}`)
  return paths.length > MOST_FIELDS ? [...lines, `  and ${paths.length - MOST_FIELDS} more`] : lines
}

/** One block per object that would change. Writes nothing. */
export async function diffOf(context: InstallContext, plan: InstallPlan): Promise<readonly string[]> {
  const { client, types } = context
  const lines: string[] = []
  const missing = new Set<string>()
  for (const object of plan.phases.flatMap((p) => p.groups.flat())) {
    const { namespace, name = '' } = object.metadata
    const text = refText(refOf(object))
    const type = await types.of(object.apiVersion, object.kind)
    const live = await client.get(type, { name, ...defined({ namespace }) })
    if (live === undefined) lines.push(`+ ${text}`)
    // A server cannot dry-run in a namespace that does not exist.
    if (namespace !== undefined && (await isMissing(context, namespace, missing))) continue
    const tried = await writeReleased(context, object, { dryRun: true })
    const changes = live === undefined ? [] : differences(live, tried)
    if (changes.length > 0)
      lines.push(`~ ${text}`, ...(object.kind === 'Secret' ? ['  (values of a Secret)'] : changes))
  }
  return [...lines, ...plan.prunes.map(({ ref }) => `- ${refText(ref)}`)]
}

async function isMissing({ client }: InstallContext, name: string, missing: Set<string>): Promise<boolean> {
  if (missing.has(name)) return true
  if ((await client.get(namespaceType, { name })) !== undefined) return false
  missing.add(name)
  return true
}
