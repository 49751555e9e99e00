// Proposes the versions of sets as a fleet edit, if nothing but versions differs.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { jsonEqual } from '#lib/json.ts'
import { messageOf } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import { type VersionChange, versionSteps } from './steps.ts'
import type { Io } from '#lib/terminal/io.ts'
import { recordedName } from '#forecast/plan/recorded-name.ts'
import type { SetChange } from '#explain/rollout/commit.ts'
import { type CopyOptions, proposeEdits } from './propose.ts'

interface Wanted {
  readonly sets: readonly MachineComponentSet[]
  readonly changes: readonly SetChange[]
}

/** Returns whether an edit was proposed; standard error has the reason if not. */
export async function proposeVersions(
  client: KubeClient,
  { sets, changes }: Wanted,
  options: CopyOptions & { readonly cluster?: string },
  io: Io,
): Promise<boolean> {
  const wanted = changes.map((change) => versionChanges(sets, change))
  const versions = wanted.flatMap((v) => v ?? [])
  if (wanted.includes(undefined) || versions.length === 0) {
    io.err('no file is edited: more than versions differs\n')
    return false
  }
  const target =
    options.cluster ?? (await recordedName(client).catch((error: unknown) => ({ error: messageOf(error) })))
  if (typeof target !== 'string') {
    io.err(shownLine(`no file is edited: ${target.error}`))
    return false
  }
  const names = [...new Set(versions.map((v) => `${v.component} ${v.to}`))].join(', ')
  const what = `${names} in ${[...new Set(versions.map((v) => `set/${v.set}`))].join(', ')}`
  return proposeEdits({ what, subject: names, steps: versionSteps(target, versions) }, options, io)
}

/** Undefined if a component is added, removed, or has other values. */
function versionChanges(sets: readonly MachineComponentSet[], change: SetChange): readonly VersionChange[] | undefined {
  const now = sets.find((s) => s.metadata.name === change.set)?.spec.components
  if (now === undefined || now.length !== change.components.length) return undefined
  const found: VersionChange[] = []
  for (const { version: to, ...rest } of change.components) {
    const { version: from = '', ...before } = now.find((c) => c.name === rest.name) ?? { name: '' }
    if (!jsonEqual(before, rest)) return undefined
    if (from !== to) found.push({ set: change.set, component: rest.name, from, to })
  }
  return found
}
