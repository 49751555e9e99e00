import { expect, test } from 'vitest'
import { clientsOf } from './run-roles.ts'

const CONFIG = { server: 'https://127.0.0.1:1' }

test.each([
  [false, true],
  [true, false],
])('the only cluster of a process: %s; each client of a role has bounds: %s', (isOne, hasBounds) => {
  const { client, clientAs, leaseClient } = clientsOf(CONFIG, 'kubenode-controllers', isOne)
  for (const one of [client, clientAs('ada'), leaseClient]) expect(one.mostListed !== undefined).toBe(hasBounds)
})
