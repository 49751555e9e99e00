// Removes the agent from its host: certificate, folders, programs, unit. On a host with systemd, a unit that replaces the agent's unit does the last
// steps: it runs again after a crash or a boot until nothing is left, and it needs none of the agent's programs.
import { dirname, join } from 'node:path'
import type { Logger } from '#lib/log.ts'
import { removeDurably, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { leavingFile, onNode, originalsFolder, type NodeDir } from '../node-dir.ts'
import { putBackAll } from '../components/hand-back.ts'
import type { Systemctl } from '../supervise/systemd/systemctl.ts'
import { saveOriginals } from './save-originals.ts'

export const AGENT_UNIT = 'kubenode-agent.service'
export const UNIT_PATH = `/etc/systemd/system/${AGENT_UNIT}`
export const WANTED_BY = `/etc/systemd/system/multi-user.target.wants/${AGENT_UNIT}`
/** Files installed beside the agent's folder; other files there belong to other programs. */
const PROGRAMS = ['agent.mjs', 'supervisor.mjs', 'join.sh', 'rescue', AGENT_UNIT, 'bin/node', 'lib'] as const

const MOST_NAMED = 32

export interface LeaveHostDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly log: Logger
  /** Absent where systemd does not run the host. */
  readonly systemctl: Systemctl | undefined
}

export async function leaveHost(deps: LeaveHostDeps): Promise<void> {
  const { files, dir, log, systemctl } = deps
  // A component with a damaged record and slot was not listed; without this its paths would dangle.
  for (const component of await files.list(originalsFolder(dir))) await putBackAll(deps, component)
  const saved = await saveOriginals(deps)
  if (saved.length > 0) log.warn('originals that were not put back were saved', { paths: saved.slice(0, MOST_NAMED) })
  // Remove the key first: whatever interrupts the rest, the host is no longer an agent.
  await removeDurably(files, join(dir.state, 'identity'))
  const unit = (await files.read(onNode(dir, UNIT_PATH)))?.toString('utf8')
  const cleaner = systemctl === undefined || unit === undefined ? undefined : cleanerUnit(unit, dir.path)
  if (systemctl === undefined || cleaner === undefined) {
    await removeFolder(deps)
    log.info('the agent left its host', { folder: dir.path })
    return
  }
  await writeDurably(files, onNode(dir, UNIT_PATH), cleaner, 0o644)
  await systemctl.run('daemon-reload')
  log.info('the agent leaves its host', { folder: dir.path, unit: AGENT_UNIT })
  await systemctl.run('--no-block', 'restart', '--', AGENT_UNIT)
}

/** A folder that is a whole node keeps what its components left below its root. */
async function removeFolder({ files, dir }: LeaveHostDeps): Promise<void> {
  const isInside = dir.root.startsWith(`${dir.path}/`)
  for (const name of await files.list(dir.path)) {
    const path = join(dir.path, name)
    if (path !== dir.state && !(isInside && path === dir.root)) await removeDurably(files, path)
  }
  for (const name of await files.list(dir.state))
    if (join(dir.state, name) !== leavingFile(dir)) await removeDurably(files, join(dir.state, name))
  await removeDurably(files, dir.state)
}

const PLAIN = /^\/[\w./-]+$/

/** Undefined when the agent's unit was modified and no longer shows where the programs are. */
function cleanerUnit(unit: string, folder: string): string | undefined {
  const programs = /^ExecStart=.*\s(\S+)\/supervisor\.mjs\s/m.exec(unit)?.[1]
  if (programs === undefined || !PLAIN.test(programs) || !PLAIN.test(folder) || dirname(folder) === '/')
    return undefined
  const steps = [
    `rm -rf -- ${PROGRAMS.map((p) => join(programs, p)).join(' ')}`,
    `rmdir -- ${join(programs, 'bin')} ${programs} 2>/dev/null || true`,
    `rm -rf -- ${folder} || true`,
    // In one step, and last: until here a boot starts this unit again.
    `rm -f -- ${WANTED_BY} ${UNIT_PATH}`,
    'systemctl --no-block daemon-reload',
  ]
  return `[Unit]
Description=Removes the KubeNode agent, which has left this host

[Service]
Type=simple
ExecStart=/bin/sh -ec '${steps.join('; ')}'
Restart=on-failure
RestartSec=2

[Install]
WantedBy=multi-user.target
`
}
