// The record of used rights: servers of tests write it, `npm run rights` makes the table of it. Tests outside the list are no evidence: they use identities by hand.
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ApiServerOptions } from '#apiserver/api-server.ts'
import { type UsedRight, usedRights } from '#apiserver/auth/used-rights.ts'
import { USED_RIGHTS_FILE } from '#apiserver/run-api-server.ts'
import type { RightsTable } from './shipped-rights.ts'

export const TABLE_FILE = join(import.meta.dirname, '../../repo/used-rights.json')
export const recordedTable = (): RightsTable => JSON.parse(readFileSync(TABLE_FILE, 'utf8')) as RightsTable

/** A folder, set by `npm run rights`. */
const FOLDER = process.env['KUBENODE_RECORD_RIGHTS']

export const isRecording = FOLDER !== undefined

export const note = (line: string): void => {
  if (FOLDER !== undefined) appendFileSync(join(FOLDER, `${process.pid}.jsonl`), `${line}\n`)
}

/** For the servers of the tests in the list below. */
export const recording: Pick<ApiServerOptions, 'onAllowed'> =
  FOLDER === undefined ? {} : { onAllowed: usedRights(note) }

const parsed = (text: string): readonly UsedRight[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as UsedRight)

/** What all files of a folder noted. */
export const usedIn = (folder: string): readonly UsedRight[] =>
  readdirSync(folder).flatMap((name) => parsed(readFileSync(join(folder, name), 'utf8')))

/** What `kubenode apiserver --record-rights` noted in its data folder. */
export function usedAt(data: string): readonly UsedRight[] {
  const file = join(data, USED_RIGHTS_FILE)
  return existsSync(file) ? parsed(readFileSync(file, 'utf8')) : []
}

/** Tests in which our own programs act, under their own identities and the shipped roles. */
export const EVIDENCE: readonly string[] = [
  'test/e2e/whole-way/whole-way.test.ts',
  'test/e2e/replicas/two-defenders.test.ts',
  'test/attacks/deleted-guards.test.ts',
  'test/attacks/door.test.ts',
  'test/integration/agent-accounts.test.ts',
  'test/integration/artifacts-role.test.ts',
  'test/integration/defender-webhook.test.ts',
  'test/integration/cluster-lifetime.test.ts',
  'test/integration/clusters.test.ts',
  'test/integration/console-programs.test.ts',
  'test/integration/console-role.test.ts',
  'test/integration/defender.test.ts',
  'test/integration/drift.test.ts',
  'test/integration/hosted-programs.test.ts',
  'test/integration/image-containerd.test.ts',
  'test/integration/machine-import.test.ts',
  'test/integration/metrics-server.test.ts',
  'test/integration/render-job.test.ts',
  'test/integration/renames.test.ts',
  'test/integration/repair-replace.test.ts',
  'test/integration/repair-steps.test.ts',
  'test/integration/role-rights.test.ts',
  'test/integration/rollout.test.ts',
  'test/integration/uncommitted-change.test.ts',
]
