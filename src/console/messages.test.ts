// The page's test data and the server's results are valid protocol messages; browser tests use nothing else.
import { describe, expect, test } from 'vitest'
import { deltaProblems, eventProblems, families, problemsAs, topicProblems } from '#test/support/console/messages.ts'
import { leastOf, withOtherWords } from '#test/support/console/message-edits.ts'
import { approving, home, pipeline, session, snapshots, why } from '#test/support/console/fixtures.ts'
import { plan, prepared } from '#test/support/console/plan-fixtures.ts'
import { manyMachines } from '#test/support/console/many-machines.ts'

test('the page is tested with every family of topics, and each is of its type', () => {
  expect(new Set(snapshots.map(({ topic }) => topic.split('/')[0]))).toEqual(new Set(families()))
  expect([...snapshots, manyMachines('prod')].flatMap((s) => topicProblems(s.topic, s))).toEqual([])
})

test.each([
  ['Session', session],
  ['WhyAnswer', why],
  ['ApprovingAnswer', approving],
  ['PlanAnswer', plan],
  ['PreparedCommit', prepared],
])('the page is tested with a %s of its type', (name, value) => {
  expect(problemsAs(name, value)).toEqual([])
})

const [attention] = home.rows
const [release] = pipeline.rows

describe('what differs from its type is found', () => {
  test.each([
    ['a field that the type lacks', { ...home, head: { ...home.head, mood: 'calm' } }, 'mood'],
    ['a field that is missing', { ...home, rows: [{ id: 'a' }] }, 'weight'],
    ['a time that is no number', { ...home, rows: [{ ...attention, since: Number.NaN }] }, 'since'],
    ['a word that is in no list', { ...home, rows: [{ ...attention, weight: 'Heavy' }] }, 'weight'],
    ['a row of another topic', { ...home, rows: [release] }, 'rows/0'],
  ])('%s', (_, snapshot, named) => {
    const sent: unknown = JSON.parse(JSON.stringify(snapshot))
    expect(topicProblems('home', sent).join('\n')).toContain(named)
  })

  test('a change of a row that is none, a topic that is none, an event that is none', () => {
    expect(deltaProblems({ topic: 'home', set: [release], removed: [] } as never)).not.toEqual([])
    expect(deltaProblems({ topic: 'home', set: [attention], removed: [] } as never)).toEqual([])
    expect(deltaProblems({ topic: 'weather' })).toEqual(['weather is no topic'])
    expect(eventProblems('weather', '{}')).toEqual(['the stream has an event weather'])
  })
})

test('what another server may send is edited as its type says', () => {
  for (const snapshot of snapshots) expect(topicProblems(snapshot.topic, leastOf(snapshot))).toEqual([])
  expect(leastOf(home).rows[0]).not.toHaveProperty('lift')
  expect(withOtherWords(home).rows[0]).toMatchObject({ id: attention?.id, weight: 'OfAnotherServer' })
})
