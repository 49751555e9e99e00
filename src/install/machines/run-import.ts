// Runs an import or its undo, one Machine at a time; a failure is reported and does not block the rest.
import { listAll } from '#kube/list-all.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { messageOf } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import { nodeType } from '#nodes/objects.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import { shownLine } from '#lib/printable.ts'
import type { TaggedHost } from '#providers/port.ts'
import { countLine } from '#lib/terminal/amount.ts'
import type { Io } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { machineCode } from './machine-code.ts'
import { taggedNodes } from './tagged-nodes.ts'
import { type ImportStep, type UndoStep, declarationOf, planImport, planUndo } from './import.ts'

export interface ImportRun {
  readonly client: KubeClient
  readonly names: readonly string[]
  readonly selector?: string
  readonly all?: boolean
  /** Cloud hosts with a tag, whose Nodes are selected. */
  readonly hosts?: readonly TaggedHost[]
  readonly dryRun?: boolean
  readonly undo?: boolean
  readonly output?: string
}

export async function runImport(options: ImportRun, io: Io): Promise<{ readonly failed: number }> {
  const { client, selector, all = false, undo = false } = options
  const [nodes, machines] = await Promise.all([listAll(client, nodeType), listAll(client, machineType)])
  const chosen = all
    ? nodes
    : selector === undefined
      ? []
      : await listAll(client, nodeType, { labelSelector: selector })
  if (selector !== undefined && chosen.length === 0)
    io.err(shownLine(`no Node has the labels ${selector}; see them with kubectl get nodes --show-labels`))
  const tagged = taggedNodes(options.hosts ?? [], nodes)
  for (const { providerID, address } of tagged.withoutNode)
    io.err(shownLine(`${providerID}${address === undefined ? '' : ` (${address})`}: not a Node here; left out`))
  for (const { host, nodes: named } of tagged.doubled)
    io.err(
      shownLine(
        `${host.providerID}: the Nodes ${named.join(' and ')} name it; left out; correct spec.providerID of one`,
      ),
    )
  if (options.hosts?.length === 0) io.err(shownLine('no host has this tag'))
  const picked = [...chosen.map((n) => n.metadata.name ?? ''), ...tagged.names]
  const given = { names: options.names, picked, nodes, machines }
  if (undo) return carryOut(options, planUndo(given), io)
  const steps = planImport(given)
  if (options.output === undefined) return carryOut(options, steps, io)
  const { stringify } = await import('yaml')
  const made = steps.flatMap((s) => declarationOf(s) ?? [])
  if (options.output === 'ts') io.out(machineCode(made))
  else for (const machine of made) io.out(`---\n${stringify(machine)}`)
  for (const step of steps)
    if (step.kind !== 'Create' && declarationOf(step) === undefined) io.err(shownLine(`${step.name}: ${step.text}`))
  return { failed: steps.filter((s) => s.kind === 'Missing' || s.kind === 'Refused').length }
}

type Step = ImportStep | UndoStep

/** On a terminal each Machine is a line. If the lines go to a file, the terminal shows a count. */
async function carryOut(run: ImportRun, steps: readonly Step[], io: Io): Promise<{ readonly failed: number }> {
  let at = 0
  const work = stepByStep(run, steps, io, () => void at++)
  const what = run.undo === true ? 'undoing the import' : 'importing'
  const showsCount = io.width?.() === undefined && io.errWidth?.() !== undefined
  const { done, failed } = await (showsCount
    ? withProgress(io, (elapsedMs) => countLine(what, at, steps.length, elapsedMs), work)
    : work)
  const kept = steps.length - done - failed
  io.err(`${done} ${run.dryRun === true ? 'would be ' : ''}done, ${kept} unchanged, ${failed} failed\n`)
  return { failed }
}

async function stepByStep(
  { client, dryRun = false }: ImportRun,
  steps: readonly Step[],
  io: Io,
  onStep: () => void,
): Promise<{ readonly done: number; readonly failed: number }> {
  let failed = 0
  let done = 0
  for (const step of steps) {
    onStep()
    const print = (what: string) => io.out(shownLine(`${step.name}: ${what}`))
    switch (step.kind) {
      case 'There':
      case 'Gone':
      case 'Left':
        print(step.text)
        break
      case 'Missing':
      case 'Refused':
      case 'Keep':
        failed++
        print(step.text)
        break
      case 'Create':
      case 'Delete': {
        const what = step.kind === 'Create' ? `machine/${step.name} observes it` : 'not observed any more'
        const error = dryRun ? undefined : await perform(client, step.kind, step.machine)
        if (error === undefined) done++
        else failed++
        print(error ?? (dryRun ? `dry run: ${what}` : what))
        break
      }
      default:
        step satisfies never
    }
  }
  return { done, failed }
}

/** Undefined on success. */
async function perform(client: KubeClient, kind: 'Create' | 'Delete', machine: Machine): Promise<string | undefined> {
  try {
    if (kind === 'Create') {
      await client.create(machineType, machine, { fieldManager: FIELD_MANAGERS.cli })
      return undefined
    }
    // Deletes only the version that was read: a Machine that a user has started to manage stays.
    const deleted = await deleteExactly(client, machineType, machine)
    return deleted.kind === 'Applied' || deleted.kind === 'Stale' ? undefined : deleted.error.message
  } catch (e) {
    return isAlreadyExists(e) ? undefined : messageOf(e)
  }
}
