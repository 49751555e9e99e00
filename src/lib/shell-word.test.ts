import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { shellWord } from './shell-word.ts'

test.each(['aws:///eu-central-1a/i-0a1b2c3', '/var/lib/kubenode', 'a@b%c+d=e,f'])('%s stays as it is', (text) => {
  expect(shellWord(text)).toBe(text)
})

test.each([
  '',
  '~',
  'cloud://a;id',
  'cloud://$(id)',
  'cloud://`id`',
  "cloud://it's",
  'cloud://a b',
  'cloud://*',
  '!!',
  'a\nb',
  '"',
  '\\',
])('a shell reads %j as one word', (text) => {
  expect(execFileSync('/bin/sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' })).toBe(text)
})
