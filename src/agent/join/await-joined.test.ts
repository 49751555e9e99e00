import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { awaitJoined } from './await-joined.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'kubenode-await-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function waiting(state: string, log: string, onSleep: (n: number) => void = () => undefined) {
  let now = 0
  const joinFile = join(folder, 'join.json')
  writeFileSync(joinFile, '{}')
  const clock = {
    monotonic: () => now,
    sleep: async (ms: number) => {
      now += ms
      onSleep(now)
    },
  }
  const outputOf = (program: string) => (program === 'systemctl' ? `${state}\n` : log)
  return awaitJoined({ joinFile, unit: 'a.service', since: 0, clock, outputOf })
}

test('ends as soon as the agent has deleted the bundle', async () => {
  expect(await waiting('active', '', (now) => now === 1_000 && rmSync(join(folder, 'join.json')))).toBeUndefined()
})

test.each([
  ['failed', 'KN8003: cannot join as m: the token is old; print "it" again\n', /^KN8003: .*print "it" again$/],
  ['failed', '', /^it ended$/],
  ['active', '{"msg":"x","error":"KN1348: cannot \\"reach\\" it"}\n', /^KN1348: cannot "reach" it$/],
  ['active', '', /^no answer after 60s$/],
])('an agent that is %s and logs %j', async (state, log, why) => expect(await waiting(state, log)).toMatch(why))
