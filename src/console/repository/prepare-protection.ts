// Prepares a commit that protects machines from every disruption, or ends that, with what it means for each of them now.
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { HUB_TARGET } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import { listAll } from '#kube/list-all.ts'
import { counted } from '#lib/counted.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type { MadePlan } from '#forecast/plan/make-plan.ts'
import { recordedName } from '#forecast/plan/recorded-name.ts'
import type { ChangeRequest, MachineEffect } from '../prepared.ts'
import { isPathName } from './main-edit.ts'
import { PROTECTING_POLICY, protectEdits } from './protect-edits.ts'
import { consoleRepositoryErrors } from './repository-errors.ts'
import type { Prepared, Trying } from './trying.ts'

type ProtectRequest = Extract<ChangeRequest, { readonly machines: readonly string[] }>

/** The limit of `spec.protect[].reason`. */
const MOST_REASON = 200

export async function preparedProtection(
  { kind, machines: names, cluster }: ProtectRequest,
  { files, planOf, client, reason }: Trying,
): Promise<Prepared> {
  const isProtected = kind === 'Protect'
  const [target, sets, found] = await Promise.all([
    recordedName(client),
    listAll(client, machineComponentSet),
    Promise.all(names.map((name) => client.get(machineType, { name }))),
  ])
  const missing = names.find((_, i) => found[i] === undefined)
  if (missing !== undefined && isProtected)
    throw new KubeNodeError(consoleRepositoryErrors.KN1723_machine({ name: missing, cluster }))
  const refused = (why: string): KubeNodeError =>
    new KubeNodeError(consoleRepositoryErrors.KN1722_protect({ cluster, why }))
  // It becomes part of a path.
  if (!isPathName(target)) throw refused(`the fleet calls it ${JSON.stringify(target)}`)
  const edits = protectEdits(files, {
    target: target === HUB_TARGET ? 'hub' : target,
    machines: names,
    isProtected,
    reason: printableLine(reason).trim().slice(0, MOST_REASON),
  })
  if (typeof edits === 'string') throw refused(edits)
  const made = await planOf(edits)
  if (!isOnlyProtection(made, target)) throw refused('the render has other changes than this protection')
  if (isProtected && !isLimitedOtherwise(made, target))
    throw refused(
      'it declares no other DefenderPolicy for all machines and operations, so this one would take the place of the built-in policy',
    )
  const what = names.length === 1 ? (names[0] ?? '') : counted(names.length, 'machine')
  return {
    edits,
    made,
    subject: `${target}: ${isProtected ? 'protect' : 'no longer protect'} ${what}`,
    branch: `kubenode/${isProtected ? 'protect' : 'unprotect'}-${target}`,
    machines: names.map((name, i) => ({ machine: name, text: effectOn(found[i], sets, isProtected) })),
  }
}

/** Nothing but the list of the protecting policy, in this cluster. */
function isOnlyProtection({ shown }: MadePlan, target: string): boolean {
  const changes = shown.flatMap((d) => d.changes.map((c) => ({ ...c, cluster: d.cluster })))
  return (
    changes.length === 1 &&
    changes.every(
      ({ cluster, ref, fields }) =>
        cluster === target &&
        ref.kind === defenderPolicy.kind &&
        ref.name === PROTECTING_POLICY &&
        fields.every(({ path }) => path.startsWith('spec.protect')),
    )
  )
}

/** A policy that applies to everything. Where none applies, the Defender has a careful one of its own. */
function isLimitedOtherwise({ after }: MadePlan, target: string): boolean {
  return (after.targets.get(target)?.objects ?? []).some(({ ref, object: { spec } }) => {
    const isOther = ref.kind === defenderPolicy.kind && ref.name !== PROTECTING_POLICY
    return (
      isOther &&
      isObject(spec) &&
      spec['mode'] !== 'Audit' &&
      spec['selector'] === undefined &&
      spec['operations'] === undefined
    )
  })
}

/** By the versions that its sets declare now. */
function effectOn(
  machine: Machine | undefined,
  sets: readonly MachineComponentSet[],
  isProtected: boolean,
): MachineEffect['text'] {
  if (machine === undefined) return 'it does not exist'
  const parts = [...(isProtected ? running(machine) : []), ...pending(machine, sets, isProtected)]
  if (parts.length > 0) return parts.join('; ')
  return isProtected ? 'nothing is due on it now' : 'nothing is due on it now; it may be disrupted again'
}

function running({ spec, status }: Machine): readonly string[] {
  const switching = (status?.components ?? []).filter(({ state }) => state === 'Switching' || state === 'Probing')
  const jobs = spec.jobs?.length ?? 0
  return [
    ...switching.map(({ name }) => `the switch of ${name} that runs finishes`),
    ...(jobs === 0 ? [] : [`${counted(jobs, 'repair')} in progress: what was permitted finishes`]),
  ]
}

function pending(
  { spec, status }: Machine,
  sets: readonly MachineComponentSet[],
  isProtected: boolean,
): readonly string[] {
  return (status?.components ?? []).flatMap(({ name, version = 'none', state }) => {
    const set = sets.find((s) => s.metadata.name === spec.components?.find((c) => c.name === name)?.setRef)
    const wanted = set?.spec.components.find((c) => c.name === name)?.version
    if (wanted === undefined || wanted === version || state === 'Switching' || state === 'Probing') return []
    const from = `set ${set?.metadata.name ?? ''}`
    return [
      isProtected
        ? `${name} stays at ${version}, ${from} declares ${wanted}`
        : `${name} may switch from ${version} to ${wanted} of ${from}`,
    ]
  })
}
