// Advice names the program as it was called, and data stays as it is.
import { expect, test } from 'vitest'
import { withNameAsCalled } from './as-called.ts'

function shown(text: string, line: string, env: Readonly<Record<string, string>> = { npm_command: 'exec' }) {
  let out = ''
  let err = ''
  const io = withNameAsCalled(
    { out: (t) => void (out += t), err: (t) => void (err += t), cwd: '/', env, isTerminal: false },
    line.split(' '),
  )
  io.out(text)
  io.err(text)
  return { out, err }
}

const advice = 'run kubenode why node/n-1, or kubenode get'
const pasted = 'run npx kubenode why node/n-1, or npx kubenode get'

test.each([
  ['get nodes', { out: advice, err: pasted }],
  ['why', { out: pasted, err: pasted }],
  ['plan', { out: pasted, err: pasted }],
  ['why -o json', { out: advice, err: pasted }],
])('npx kubenode %s', (line, expected) => expect(shown(advice, line)).toEqual(expected))

test.each([
  'npx kubenode get',
  'bin/kubenode get',
  'the namespace kubenode is empty',
  'kubenode gets it',
  'kubectl-kubenode get',
])('"%s" stays', (text) => expect(shown(text, 'why').err).toBe(text))

test('without npx nothing changes', () => expect(shown(advice, 'why', {})).toEqual({ out: advice, err: advice }))
