// Outside input is parsed or refused: no content of a log, a file or a program's output ends the agent.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDetect } from '#api/agent-config/detect-config.ts'
import { parseMounts } from '../builtin/read-only.ts'
import { sleepingTask } from '../builtin/hung-tasks.ts'
import { lifeOf } from '../builtin/certificates.ts'
import { parseFlags } from './flags.ts'
import { goLayout } from '#api/agent-config/go-time.ts'
import { healthOptions } from './health-options.ts'
import { parseEntry } from './journal.ts'
import { parseKmsg } from './kmsg.ts'
import { countOptions } from './log-count.ts'
import { parseMonitor, parseMonitorText } from '#api/agent-config/monitor-config.ts'
import { osVersion } from './os-release.ts'
import { traitsOf } from './pattern-traits.ts'
import { parseServiceState } from './service-state.ts'
import { inFull } from '#test/support/tools/full.ts'

const RUNS = inFull(20_000, 400)
const text = fc.string({ unit: 'binary', maxLength: 200 })

test('any text', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      parseKmsg(a)
      parseKmsg(`6,1,2,-;${a}`)
      parseEntry(a)
      parseMonitorText(a)
      parseMounts(`${a} - ${b}`)
      sleepingTask(a)
      lifeOf('/c', `-----BEGIN CERTIFICATE-----${a}-----END CERTIFICATE-----`)
      parseFlags([a, b])
      osVersion(a)
      traitsOf(a)
      parseServiceState(a, () => undefined, 0)
      goLayout(a)?.parse(b, 0)
      goLayout('Jan _2 15:04:05')?.parse(a, 0)
      healthOptions([a, `--${b}`])
      countOptions([`--pattern=${a}`, `--journald-source=${b}`])
    }),
    { numRuns: RUNS },
  )
})

const KEYS = [
  'plugin',
  'source',
  'pluginConfig',
  'conditions',
  'rules',
  'bufferSize',
  'lookback',
  'skipList',
  'net',
  'cpu',
]
const WORDS = ['kmsg', 'journald', 'filelog', 'custom', 'permanent', 'temporary', 'type', 'reason', '5m', '(']

test('any JSON in the place of a monitor or of the configuration', () => {
  const leaf = fc.oneof(fc.constantFrom(...WORDS), fc.jsonValue({ maxDepth: 2 }))
  const object = fc.dictionary(fc.constantFrom(...KEYS, ...WORDS), fc.oneof(leaf, fc.array(leaf, { maxLength: 4 })))
  fc.assert(
    fc.property(object, object, leaf, (a, b, c) => {
      for (const plugin of ['kmsg', 'journald', 'filelog', 'custom']) {
        const { monitor, problems } = parseMonitor({ source: 's', ...a, plugin, rules: [b, c], conditions: [b] })
        // Every unused part has a reason.
        if (monitor === undefined) expect(problems).not.toEqual([])
      }
      parseDetect({ monitors: [a, c], detectors: b, metrics: c })
      parseDetect({ monitors: c, detectors: { disk: a, clock: b }, metrics: a })
    }),
    { numRuns: RUNS },
  )
})
