// The five states of the fleet for pictures: the picture of one state must differ from those of the others.
import { expect, test } from 'vitest'
import { FLEET_STATES } from './fleet-states.ts'

/** A rollout needs no repair, and no attention: Home shows it from the topic of the pipeline. */
const ALIKE: ReadonlySet<string> = new Set(['repairs/prod calm mid-rollout', 'home calm mid-rollout'])
const TOPICS = ['home', 'pipeline', 'machines/prod', 'sets/prod', 'set/prod/base', 'node/prod/n-3']
const ALL = [...TOPICS, 'budgets/prod', 'repairs/prod', 'clusters', 'commits']

test.each(ALL)('topic %s differs from state to state', (topic) => {
  const pairs = FLEET_STATES.flatMap((a, at) => FLEET_STATES.slice(at + 1).map((b) => [a, b] as const))
  const same = pairs
    .filter(([a, b]) => JSON.stringify(a.topics.get(topic)) === JSON.stringify(b.topics.get(topic)))
    .map(([a, b]) => `${topic} ${a.name} ${b.name}`)
  expect(same.filter((pair) => !ALIKE.has(pair))).toEqual([])
})
