// Unreadable files named by a user: the error names the file and the reason in plain words, without operating system codes.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { run } from './program.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubenode-unreadable-'))
afterAll(() => rmSync(folder, { recursive: true }))
mkdirSync(join(folder, 'dir'))
writeFileSync(join(folder, 'file'), '')
writeFileSync(
  join(folder, 'kubeconfig'),
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'a', user: { token: 't' } }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
  }),
)

const PLACES = ['none', 'dir', 'file/x'] as const
const SERVER = ['--kubeconfig', join(folder, 'kubeconfig')] as const

/** FILE marks the path's position. */
const COMMANDS = [
  ['artifact', 'from-tar', 'FILE', '--as', '1', '--key', 'k.pem', '--recipe', 'kubelet'],
  ['artifact', 'pack', 'FILE/x', '-f', 'a.tar'],
  ['artifact', 'sign', 'FILE', '--key', 'k.pem'],
  ['artifact', 'verify', 'FILE', '--trust', 'trust.json'],
  ['artifact', 'keys', 'new', '-f', 'FILE/x/key.pem'],
  ['get', 'machines', '--kubeconfig', 'FILE'],
  ['cluster', 'recipe', 'proxy', '1', '-f', 'FILE', '--kubernetes', '1.36'],
  ['install', '--values', 'FILE', ...SERVER],
  ['machine', 'readmit', '--file', 'FILE', ...SERVER],
  ['machine', 'revoke', '--file', 'FILE', ...SERVER],
  ['machine', 'join-command', 'a', '--join-script', 'FILE', ...SERVER],
  ['plan', '--inventory', 'FILE'],
  ['rules', 'simulate', '--node', 'FILE'],
  ['rules', 'lint', '--dir', 'FILE/x'],
  ['lint', 'FILE/x'],
] as const

describe.each(PLACES)('%s instead of a file', (place) => {
  test.each(COMMANDS.map((argv) => [argv.slice(0, 2).join(' '), argv] as const))('%s says so', async (_, argv) => {
    let err = ''
    const words = argv.map((w) => w.replace('FILE', join(folder, place)))
    const io = { out: () => undefined, err: (t: string) => void (err += t), cwd: folder, env: {}, isTerminal: false }
    const code = await run(words, io)
    expect([code, err]).toEqual([2, expect.stringMatching(/^KN\d+: .*(none|dir|file)/m)])
    expect(err).not.toMatch(/\bE[A-Z]{3,}\b|lstat|scandir|mkdir/)
  })
})
