// Finds the Machines of a command: by name, from a file of names, or by label.
import { listAll } from '#kube/list-all.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { readBoundedText, STANDARD_INPUT } from '#lib/bounded-file.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import type { KubeClient } from '#kube/client.ts'
import { absent, findOne, namesOf } from '#explain/objects/find-object.ts'

export interface MachineChoice {
  readonly client: KubeClient
  readonly names: readonly string[]
  readonly selector?: string
  readonly file?: string
}

export interface NamedMachines {
  readonly machines: readonly Machine[]
  /** Called for each name that does not exist. */
  readonly missing: readonly string[]
}

/** `wrong` creates the command's error. */
export async function namedMachines(
  { client, names, selector, file }: MachineChoice,
  wrong: (why: string, cause?: unknown) => Error,
): Promise<NamedMachines> {
  const named = [...new Set([...names, ...(file === undefined ? [] : namesIn(file, wrong))])]
  if (named.length === 0 && selector === undefined) throw wrong('no machines are named')
  const found = selector === undefined ? [] : await listAll(client, machineType, { labelSelector: selector })
  const machines = new Map(found.map((m) => [m.metadata.name ?? '', m]))
  const missing: string[] = []
  for (const name of named.filter((n) => !machines.has(n))) {
    const m = await findOne(client, machineType, name)
    if (m === undefined) missing.push(name)
    else machines.set(name, m)
  }
  const known = missing.length === 0 ? [] : await namesOf(client, machineType)
  const missingText = missing.map(
    (name) => absent({ client, noun: 'machine', name, known, plural: machineType.plural }).message,
  )
  return { machines: [...machines.values()], missing: missingText }
}

function namesIn(file: string, wrong: (why: string, cause?: unknown) => Error): readonly string[] {
  try {
    return readBoundedText(file === '-' ? STANDARD_INPUT : file)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#'))
  } catch (cause) {
    throw wrong(`${file}: ${systemTrouble(cause)}`, cause)
  }
}
