// Any answer of a metadata service, however wrong, fits into a Machine's status: one refused field would block the agent's whole report.
import { describe, expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { validate } from '#apiserver/schema/validate.ts'
import { ALICLOUD_METADATA } from '../alicloud/notices.ts'
import { AWS_METADATA } from '../aws/notices.ts'
import { idOf, sentence, timeIn } from './metadata.ts'

const TIMES = ['Sep 13 275760', '+010000-01-01T00:00:00Z', '-000001-01-01T00:00:00Z', 'Infinity', '1e308', 'soon', '']

test.each(TIMES)('%j is no time', (text) => {
  expect(timeIn(text)).toBeUndefined()
})

test('a time of the vendors is one', () => {
  expect(timeIn('21 Mar 2026 09:00:43 GMT')).toBe('2026-03-21T09:00:43Z')
  expect(timeIn('9999-12-31T23:59:59Z')).toBe('9999-12-31T23:59:59Z')
})

test('texts and ids are cut between characters', () => {
  for (const cut of [sentence, (text: string) => idOf(text) ?? ''])
    for (const text of ['😀'.repeat(300), `a${'😀'.repeat(300)}`]) expect(cut(text).isWellFormed()).toBe(true)
})

describe.each([AWS_METADATA, ALICLOUD_METADATA])('pages of $cloud with texts that fit nowhere', ({ cloud, pages }) => {
  const TEXTS = [...TIMES, '😀'.repeat(500), `a${'😀'.repeat(500)}`, '\u001b[31m\n</td>', 'x'.repeat(60_000)]
  const answers = TEXTS.flatMap((text) => [
    text,
    JSON.stringify({ action: text, time: text, noticeTime: text }),
    JSON.stringify({ action: text, time: '2026-03-03T08:22:00Z', noticeTime: '2026-03-03T08:22:00Z' }),
    JSON.stringify([
      {
        EventId: text,
        NotBefore: text,
        NotAfter: text,
        Code: text,
        Description: text,
        State: text,
        EventType: text,
        EventCycleStatus: text,
        Reason: text,
      },
      { EventId: 'e-2', EventType: { Name: text }, EventCycleStatus: { Name: text }, Reason: 1, NotBefore: {} },
    ]),
  ])

  test('are notices that the Machine can hold, or none', () => {
    const items = pages.flatMap(({ notices }) => answers.flatMap((answer) => notices(answer) ?? []))
    expect(items.length).toBeGreaterThan(0)
    for (const item of items) {
      expect(JSON.stringify(item).isWellFormed()).toBe(true)
      const object = {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'Machine',
        metadata: { name: 'm' },
        spec: {},
        status: { notices: { from: cloud, items: [item] } },
      }
      expect(validate(machine.schema, object)).toEqual([])
    }
  })
})
