// Decides which Machines a file of hosts makes, and what is wrong with its rows. Pure. Nothing is changed on a Machine that exists.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, type SshSpec, machine as machineType } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { createValidator } from '#api/validate.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import type { HostTrust, SshServer } from '#ssh/target.ts'
import { targetProblem } from '#ssh/target.ts'
import type { Column, HostRow, RowProblem } from './hosts-csv.ts'

export interface HostDefaults {
  readonly secret?: string
  readonly user?: string
  readonly pool?: string
  /** Public key of an authority of host certificates. */
  readonly hostCA?: string
  /** Hosts without a key in their row: their first key is accepted. */
  readonly acceptsNewKeys: boolean
}

export interface HostStep {
  readonly kind: 'Create' | 'There'
  readonly name: string
  readonly line: number
  readonly machine: Machine
}

export interface HostsPlan {
  readonly steps: readonly HostStep[]
  readonly problems: readonly RowProblem[]
}

const PORT = 22
const USER = 'root'

export function planHosts(rows: readonly HostRow[], defaults: HostDefaults, machines: readonly Machine[]): HostsPlan {
  const validator = createValidator()
  const byName = new Map(machines.map((m) => [m.metadata.name ?? '', m]))
  const ofServer = new Map(
    machines.flatMap((m) => (m.spec.ssh === undefined ? [] : [[addressOf(m.spec.ssh), nameOf(m)]])),
  )
  const lineOfName = new Map<string, number>()
  const lineOfServer = new Map<string, number>()
  const steps: HostStep[] = []
  const problems: RowProblem[] = []
  for (const row of rows) {
    const { line } = row
    const texts = missingIn(row, defaults)
    const wanted = hostMachine(row, defaults)
    const { ssh } = wanted.spec
    const name = nameOf(wanted)
    if (texts.length === 0) texts.push(...formProblems(wanted, validator))
    if (texts.length === 0 && ssh !== undefined) {
      const address = addressOf(ssh)
      const before = lineOfName.get(name) ?? lineOfServer.get(address)
      if (before !== undefined)
        texts.push(`${lineOfName.has(name) ? name : address} is also on line ${before}; remove one of them`)
      lineOfName.set(name, line)
      lineOfServer.set(address, line)
      const found = byName.get(name)
      const other = ofServer.get(address)
      if (found !== undefined) texts.push(...differences(found, wanted))
      else if (other !== undefined && other !== name)
        texts.push(`${address} is the host of machine/${other}; remove the row, or use that name`)
    }
    const there = byName.get(name)
    if (texts.length > 0) problems.push(...texts.map((text) => ({ line, text })))
    else steps.push({ kind: there === undefined ? 'Create' : 'There', name, line, machine: there ?? wanted })
  }
  return { steps, problems }
}

/** Also for people: where the host is reached. */
export const addressOf = ({ host, port, jump }: SshSpec): string =>
  `${host}:${port}${jump === undefined ? '' : ` through ${jump.host}:${jump.port}`}`

function missingIn({ cells }: HostRow, { secret, hostCA, acceptsNewKeys }: HostDefaults): string[] {
  const texts: string[] = []
  if (cells.name === undefined) texts.push('the name is missing; it is the name of the Machine and of its Node')
  if ((cells.secret ?? secret) === undefined)
    texts.push('no Secret with a key; add a column secret, or --secret NAME for all rows')
  if (cells.hostKey !== undefined && cells.hostCA !== undefined)
    texts.push('hostKey and hostCA are both there; keep one of them')
  if (cells.hostKey === undefined && (cells.hostCA ?? hostCA) === undefined && !acceptsNewKeys)
    texts.push(
      'no host key; add a column hostKey (ssh-keyscan prints it, the host shows the same at its console), --host-ca FILE, or --accept-new-keys to trust the first key',
    )
  const isJumped = cells.jumpHost !== undefined
  if (isJumped && (cells.jumpHostKey === undefined) === (cells.jumpHostCA === undefined))
    texts.push('the jump host needs either jumpHostKey or jumpHostCA; its first key is never accepted')
  for (const name of ['jumpPort', 'jumpUser', 'jumpHostKey', 'jumpHostCA'] as const)
    if (!isJumped && cells[name] !== undefined) texts.push(`${name} without jumpHost; add jumpHost, or remove it`)
  return texts
}

function hostMachine({ cells }: HostRow, defaults: HostDefaults): Machine {
  const { name = '', hostKey, pool = defaults.pool, zone, rack, class: hardware } = cells
  const hostCA = cells.hostCA ?? (hostKey === undefined ? defaults.hostCA : undefined)
  const isFirstUse = hostKey === undefined && hostCA === undefined
  const jump = cells.jumpHost !== undefined && {
    jump: {
      host: cells.jumpHost,
      port: portIn(cells.jumpPort),
      user: cells.jumpUser ?? cells.user ?? defaults.user ?? USER,
      ...defined({ hostKey: cells.jumpHostKey, hostCA: cells.jumpHostCA }),
    },
  }
  const ssh = {
    host: cells.host ?? name,
    port: portIn(cells.port),
    user: cells.user ?? defaults.user ?? USER,
    ...defined({ hostKey, hostCA }),
    ...(isFirstUse && { firstUse: true }),
    ...jump,
    secretRef: { name: cells.secret ?? defaults.secret ?? '' },
  }
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name },
    spec: { channel: 'Agent', provider: { name: 'static' }, ...defined({ pool, zone, rack, class: hardware }), ssh },
  }
}

/** Not a number: the validator reports it. */
const portIn = (text: string | undefined): number =>
  text === undefined ? PORT : /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN

const COLUMN_OF: Readonly<Record<string, Column>> = {
  '/metadata/name': 'name',
  '/spec/ssh/host': 'host',
  '/spec/ssh/port': 'port',
  '/spec/ssh/user': 'user',
  '/spec/pool': 'pool',
  '/spec/zone': 'zone',
  '/spec/rack': 'rack',
  '/spec/class': 'class',
  '/spec/ssh/hostKey': 'hostKey',
  '/spec/ssh/hostCA': 'hostCA',
  '/spec/ssh/secretRef/name': 'secret',
  '/spec/ssh/jump/host': 'jumpHost',
  '/spec/ssh/jump/port': 'jumpPort',
  '/spec/ssh/jump/user': 'jumpUser',
  '/spec/ssh/jump/hostKey': 'jumpHostKey',
  '/spec/ssh/jump/hostCA': 'jumpHostCA',
}

function formProblems(wanted: Machine, validator: ReturnType<typeof createValidator>): readonly string[] {
  const { ssh } = wanted.spec
  const ports = [
    ['port', ssh?.port],
    ['jumpPort', ssh?.jump?.port],
  ] as const
  const wrong = ports.flatMap(([column, port]) =>
    Number.isNaN(port) ? [`column ${column} is no number; use one from 1 to 65535`] : [],
  )
  if (wrong.length > 0 || ssh === undefined) return wrong
  const found = validator.problems(machineType, wanted).map(({ pointer, message, seen: value, allowed }) => {
    const got = value === undefined ? '' : ` is ${value}, and`
    return `column ${COLUMN_OF[pointer] ?? pointer}${got} ${message}${allowed === undefined ? '' : `; allowed: ${allowed}`}`
  })
  if (found.length > 0) return found
  const problem = targetProblem({ ...serverIn(ssh), jump: ssh.jump && serverIn(ssh.jump) })
  return problem === undefined ? [] : [`${problem}; correct it`]
}

function serverIn({ host, port, user, hostKey, hostCA }: Omit<SshSpec, 'secretRef' | 'jump'>): SshServer {
  const trust: HostTrust =
    hostKey !== undefined
      ? { kind: 'Pinned', hostKey }
      : hostCA !== undefined
        ? { kind: 'Authority', hostCA }
        : { kind: 'FirstUse' }
  return { host, port, user, trust }
}

/** What a row may contain beside spec.ssh. */
const PLACE = ['pool', 'zone', 'rack', 'class'] as const

/** A repeated run finds its own Machines. Machines that others made are not changed. What a row leaves out contradicts nothing. */
function differences(found: Machine, wanted: Machine): readonly string[] {
  const name = `machine/${nameOf(found)}`
  const { ssh, channel, provider } = found.spec
  if (ssh === undefined) return [`${name} exists and is not joined over SSH; use another name, or add spec.ssh to it`]
  const texts: string[] = []
  // The controllers join no such Machine, so it would be waited for without end.
  if (channel !== wanted.spec.channel)
    texts.push(
      `${name} exists with channel ${channel}, and only channel ${wanted.spec.channel} is joined over SSH; use another name, or edit the Machine`,
    )
  if (provider === undefined)
    texts.push(
      `${name} exists without spec.provider and is not joined over SSH; use another name, or add provider ${wanted.spec.provider?.name} to it`,
    )
  const changed = [
    ...sshFields(ssh, wanted.spec.ssh).map((field) => `spec.ssh.${field}`),
    ...PLACE.filter((field) => wanted.spec[field] !== undefined && wanted.spec[field] !== found.spec[field]).map(
      (field) => `spec.${field}`,
    ),
  ]
  if (changed.length > 0)
    texts.push(`${name} exists with another ${changed.join(', ')}; use the same value, or edit the Machine`)
  return texts
}

function sshFields(found: SshSpec, wanted: SshSpec | undefined): readonly string[] {
  const fields = [...new Set([...Object.keys(found), ...Object.keys(wanted ?? {})])] as (keyof SshSpec)[]
  return fields.filter((field) => !jsonEqual(found[field] ?? null, wanted?.[field] ?? null))
}
