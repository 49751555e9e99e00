import { expect, test } from 'vitest'
import { newSealingKey } from '../sealed.ts'
import { pageText, requestOf, sealedPage, ticketFor } from './log-requests.ts'

const NAME = '5f0c7a1e9d3b42868c1de0a7b94f6312'
const [agent, thief, person] = [newSealingKey(), newSealingKey(), newSealingKey()]

test('a ticket tells the agent of the machine the name of the request, and no other agent', () => {
  const ticket = ticketFor(agent.publicKey, 'm-1', NAME)
  expect(ticket).not.toContain(NAME)
  expect(ticket.length).toBeLessThanOrEqual(256)
  expect(requestOf(agent.privateKey, 'm-1', ticket)).toBe(NAME)
  expect(requestOf(thief.privateKey, 'm-1', ticket)).toBeUndefined()
  expect(requestOf(agent.privateKey, 'm-2', ticket)).toBeUndefined()
})

test.each(['../machines/m-1', '', 'a'.repeat(32).toUpperCase(), `${NAME}/status`, NAME.slice(1)])(
  'a ticket with the name %j is no request',
  (name) => expect(requestOf(agent.privateKey, 'm-1', ticketFor(agent.publicKey, 'm-1', name))).toBeUndefined(),
)

test('a page opens with the key of the person, at its place alone', () => {
  const sealed = sealedPage(person.publicKey, 'm-1', NAME, 2, 'line')
  expect(pageText(person.privateKey, 'm-1', NAME, 2, sealed)).toBe('line')
  expect(pageText(person.privateKey, 'm-1', NAME, 1, sealed)).toBeUndefined()
  expect(pageText(person.privateKey, 'm-2', NAME, 2, sealed)).toBeUndefined()
  expect(pageText(person.privateKey, 'm-1', 'another', 2, sealed)).toBeUndefined()
  expect(pageText(thief.privateKey, 'm-1', NAME, 2, sealed)).toBeUndefined()
})

test('a full page fits into the field of its kind', () => {
  expect(sealedPage(person.publicKey, 'm-1', NAME, 1, 'x'.repeat(32_768)).length).toBeLessThanOrEqual(49_152)
})
