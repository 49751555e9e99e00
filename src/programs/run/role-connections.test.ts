// Which kubeconfig each role runs with, and what is refused.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { messageOf } from '#lib/errors.ts'
import { connectionsOf, filesByRole } from './role-connections.ts'
import type { RoleName } from '../all.ts'

const asked = (names: readonly RoleName[], files: readonly string[], mayShare = false) => ({
  names,
  files,
  mayShare,
  env: {},
})
const refusal = (...a: Parameters<typeof asked>): string => {
  try {
    return JSON.stringify([...filesByRole(asked(...a))])
  } catch (e) {
    return messageOf(e)
  }
}

describe('S25 files by role', () => {
  test.each<[string, readonly RoleName[], readonly string[], boolean, readonly (readonly [RoleName, string])[]]>([
    ['one role, a plain file', ['sync'], ['/f'], false, [['sync', '/f']]],
    ['one role, its own file', ['sync'], ['sync=/f'], false, [['sync', '/f']]],
    ['a file with an equals sign', ['sync'], ['/a=b'], false, [['sync', '/a=b']]],
    ['a relative file that begins like no role', ['sync'], ['prod=b'], false, [['sync', 'prod=b']]],
    [
      'a file for each',
      ['controllers', 'approver'],
      ['approver=/a', 'controllers=/c'],
      false,
      [
        ['controllers', '/c'],
        ['approver', '/a'],
      ],
    ],
    [
      'one for all, as a person says so',
      ['controllers', 'approver'],
      ['/f'],
      true,
      [
        ['controllers', '/f'],
        ['approver', '/f'],
      ],
    ],
  ])('%s', (_, names, files, mayShare, expected) => {
    expect([...filesByRole(asked(names, files, mayShare))]).toEqual(expected)
  })

  test.each<[string, readonly RoleName[], readonly string[], RegExp]>([
    [
      'one for several',
      ['controllers', 'approver'],
      ['/f'],
      /^KN1320: cannot run controllers and approver with one identity \(\/f\).*controllers=<kubeconfig of kubenode:controllers> --kubeconfig approver=<kubeconfig of kubenode:approver>.*--shared-identity/s,
    ],
    ['one for a role that does not run', ['sync'], ['approver=/a'], /^KN1321: .*approver: this process runs sync/],
    ['two for one role', ['sync'], ['sync=/a', 'sync=/b'], /^KN1321: cannot use \/b: sync/],
    ['two for all', ['sync'], ['/a', '/b'], /^KN1321/],
    ['none for one of two', ['controllers', 'approver'], ['approver=/a'], /^KN1321: cannot run the role controllers/],
  ])('%s is refused', (_, names, files, message) => {
    expect(refusal(names, files)).toMatch(message)
  })
})

describe('S25 connections by role', () => {
  let dir: string
  const kubeconfig = (token: string) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'u', user: { token } }],
    })
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'kubenode-roles-'))
    writeFileSync(join(dir, 'a'), kubeconfig('one'))
    writeFileSync(join(dir, 'b'), kubeconfig('two'))
    copyFileSync(join(dir, 'a'), join(dir, 'copy-of-a'))
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  const connected = (file: string, mayShare: boolean) => {
    const files = [`controllers=${join(dir, 'a')}`, `approver=${join(dir, file)}`]
    return connectionsOf({ ...asked(['controllers', 'approver'], files, mayShare), context: undefined })
  }

  test('a copy of a file is the same identity', async () => {
    await expect(connected('copy-of-a', false)).rejects.toThrow(/^KN1320/)
    expect((await connected('copy-of-a', true)).size).toBe(2)
  })

  test('two identities are distinguished', async () => {
    const connections = await connected('b', false)
    expect([...connections.keys()]).toEqual(['controllers', 'approver'])
    expect(connections.get('approver')?.config.token).toEqual({ data: 'two' })
  })
})
