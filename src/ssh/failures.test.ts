import { expect, test } from 'vitest'
import { type SshFailure, failureOf } from './failures.ts'

test.each<[string, string, SshFailure]>([
  ['no route', 'ssh: connect to host 10.0.0.9 port 22: No route to host', 'Unreachable'],
  ['no name', 'ssh: Could not resolve hostname a: Name or service not known', 'Unreachable'],
  ['no answer', 'ssh: connect to host 10.0.0.9 port 22: Connection timed out', 'Unreachable'],
  ['no banner', 'Connection timed out during banner exchange', 'Unreachable'],
  ['dropped', 'kex_exchange_identification: Connection closed by remote host', 'Unreachable'],
  ['lost half-way', 'Timeout, server 10.0.0.9 not responding.', 'Unreachable'],
  ['no message', '', 'Unreachable'],
  ['a key that is not known', 'root@10.0.0.9: Permission denied (publickey).', 'AuthRefused'],
  ['a damaged key', 'Load key "/k": error in libcrypto\nroot@a: Permission denied (publickey).', 'AuthRefused'],
  ['no pinned key', 'No ED25519 host key is known for a and you have requested strict checking.', 'HostKeyUnknown'],
  ['another authority', 'Certificate invalid: name is not a listed principal', 'HostKeyUnknown'],
  [
    'another key',
    '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nSHA256:x\nHost key verification failed.',
    'HostKeyChanged',
  ],
])('%s', (_, stderr, failure) => expect(failureOf(255, stderr, false).failure).toBe(failure))

test('with a pinned key, a server without a key of its type is another server', () => {
  expect(failureOf(255, 'No RSA host key is known for kubenode-target', true).failure).toBe('HostKeyChanged')
})

test('another code is the end of the script, whatever it prints', () => {
  expect(failureOf(1, 'Permission denied (publickey)', true)).toMatchObject({ failure: 'PreflightFailed' })
  expect(failureOf(null, '', true).line).toBe('its shell exited with code none')
})
