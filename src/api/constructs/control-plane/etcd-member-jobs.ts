// Jobs that list, remove and add etcd members. They ask the other members, because the one being replaced does not answer.
import { clientUrl, memberName, peerUrl } from './etcd.ts'
import { careJob, clientFlags } from './etcd-jobs.ts'
import type { ControlPlaneSettings } from './settings.ts'

/** The container whose log lists the members. */
export const MEMBERS = 'members'

export const listMembersJob = (settings: ControlPlaneSettings, name: string, asked: readonly number[]): object =>
  memberJob(settings, name, asked, ['list'])

export const removeMemberJob = (
  settings: ControlPlaneSettings,
  name: string,
  asked: readonly number[],
  id: string,
): object => memberJob(settings, name, asked, ['remove', id])

export const addMemberJob = (
  settings: ControlPlaneSettings,
  name: string,
  asked: readonly number[],
  member: number,
): object => memberJob(settings, name, asked, ['add', memberName(member), `--peer-urls=${peerUrl(member, settings)}`])

const memberJob = (
  settings: ControlPlaneSettings,
  name: string,
  asked: readonly number[],
  args: readonly string[],
): object =>
  careJob(settings, name, {
    steps: [
      {
        name: MEMBERS,
        command: ['etcdctl', ...clientFlags(asked.map((n) => clientUrl(n, settings))), 'member', ...args],
      },
    ],
  })
