// Jobs that measure etcd members and free space in them. The image has no shell, so each command is a separate container.
import { clientUrl } from './etcd.ts'
import { careJob, clientFlags } from './etcd-jobs.ts'
import type { ControlPlaneSettings } from './settings.ts'

/** Enough to rewrite a member of 8 GiB on a slow disk. */
const PATIENCE = '--command-timeout=1200s'

/** The container whose log has one member's answer. */
export const statusOf = (member: number): string => `status-${member}`
/** The container whose log has the alarms. */
export const ALARMS = 'alarms'

/** Asks only serving members: an unavailable one must not hide what the others know. */
export const askJob = (settings: ControlPlaneSettings, name: string, members: readonly number[]): object =>
  careJob(settings, name, {
    steps: [
      ...members.map((member) => ({
        name: statusOf(member),
        command: ['etcdctl', ...clientFlags([clientUrl(member, settings)]), 'endpoint', 'status', JSON_OUT],
      })),
      { name: ALARMS, command: ['etcdctl', ...allOf(settings, members), 'alarm', 'list', JSON_OUT] },
    ],
  })

/** Leaves only the newest revision readable; API servers do the same every five minutes while etcd accepts writes. */
export const compactJob = (
  settings: ControlPlaneSettings,
  name: string,
  { members, revision }: { readonly members: readonly number[]; readonly revision: number },
): object => oneStep(settings, name, [...allOf(settings, members), PATIENCE, 'compact', String(revision), '--physical'])

/** The member does not answer until its file is rewritten. */
export const defragmentJob = (settings: ControlPlaneSettings, name: string, member: number): object =>
  oneStep(settings, name, [...clientFlags([clientUrl(member, settings)]), PATIENCE, 'defrag'])

export const disarmJob = (settings: ControlPlaneSettings, name: string, members: readonly number[]): object =>
  oneStep(settings, name, [...allOf(settings, members), 'alarm', 'disarm'])

const JSON_OUT = '--write-out=json'

const allOf = (settings: ControlPlaneSettings, members: readonly number[]): readonly string[] =>
  clientFlags(members.map((member) => clientUrl(member, settings)))

const oneStep = (settings: ControlPlaneSettings, name: string, args: readonly string[]): object =>
  careJob(settings, name, { steps: [{ name: 'step', command: ['etcdctl', ...args] }] })
