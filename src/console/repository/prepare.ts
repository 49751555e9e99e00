// Finds the edits for a requested change: tries likely ones and takes the first whose render does exactly that.
import { shortCommit } from '#api/protocol/commit-title.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { HUB_TARGET } from '#api/names.ts'
import type { ChangeRequest } from '../prepared.ts'
import { listAll } from '#kube/list-all.ts'
import { assertNever, KubeNodeError } from '#lib/errors.ts'
import { nodeType } from '#nodes/objects.ts'
import { planImport } from '#install/machines/import.ts'
import { recordedName } from '#forecast/plan/recorded-name.ts'
import { importEdits, versionEdits } from './edits.ts'
import { isPathName } from './main-edit.ts'
import { preparedProtection } from './prepare-protection.ts'
import { consoleRepositoryErrors } from './repository-errors.ts'
import { isBump } from './steps.ts'
import type { Prepared, Trying } from './trying.ts'

export function prepared(change: ChangeRequest, trying: Trying): Promise<Prepared> {
  switch (change.kind) {
    case 'Version':
      return preparedVersion(change, trying)
    case 'Import':
      return preparedImport(change, trying)
    case 'Protect':
    case 'Unprotect':
      return preparedProtection(change, trying)
    default:
      return assertNever(change)
  }
}

type VersionRequest = Extract<ChangeRequest, { readonly kind: 'Version' }>

async function preparedVersion(change: VersionRequest, { base, files, planOf, client }: Trying): Promise<Prepared> {
  const { component, from, to, set } = change
  const target = await recordedName(client)
  for (const edit of versionEdits(files, change)) {
    const made = await planOf([edit]).catch(() => undefined)
    if (made === undefined || !isBump(made.shown, target, [change])) continue
    return {
      edits: [edit],
      made,
      subject: `${component} ${to}`,
      branch: `kubenode/${component}-${to}`.replace(/[^A-Za-z0-9._/-]/g, '-'),
    }
  }
  throw new KubeNodeError(consoleRepositoryErrors.KN1384_version({ commit: shortCommit(base), component, set, from }))
}

type ImportRequest = Extract<ChangeRequest, { readonly kind: 'Import' }>

async function preparedImport({ nodes: names }: ImportRequest, { files, planOf, client }: Trying): Promise<Prepared> {
  const [nodes, machines, target] = await Promise.all([
    listAll(client, nodeType),
    listAll(client, machineType),
    recordedName(client),
  ])
  const steps = planImport({ names, nodes, machines })
  const not = steps.flatMap((s) => (s.kind === 'Create' ? [] : [s]))
  if (not[0] !== undefined)
    throw new KubeNodeError(
      consoleRepositoryErrors.KN1723({ count: String(not.length), name: not[0].name, why: not[0].text }),
    )
  const made = steps.flatMap((s) => (s.kind === 'Create' ? [s.machine] : []))
  const refused = (why: string): KubeNodeError =>
    new KubeNodeError(consoleRepositoryErrors.KN1722({ file: 'fleet/main.ts', why }))
  // It becomes part of a path.
  if (!isPathName(target)) throw refused(`the cluster is called ${JSON.stringify(target)}`)
  const edits = importEdits(files, target === HUB_TARGET ? 'hub' : target, made)
  if (edits === undefined)
    throw refused(`it does not end with app.synth(), or fleet/imported/${target}.ts exists already`)
  const plan = await planOf(edits)
  const added = plan.shown.flatMap((d) => d.changes.filter((c) => c.change !== 'added' || c.ref.kind !== 'Machine'))
  const count = plan.shown.reduce((n, d) => n + d.added, 0)
  if (added.length > 0 || count !== made.length) throw refused('the render has other changes than these Machines')
  return {
    edits,
    made: plan,
    subject: `${target}: import ${made.length === 1 ? (made[0]?.metadata.name ?? '') : `${made.length} nodes`}`,
    branch: `kubenode/import-${target}`,
  }
}
