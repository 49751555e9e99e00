import { expect, test } from 'vitest'
import { OWN_PROVIDERS } from '#api/own-providers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { providerProblems, providersIn } from './providers.ts'

const set = (name: string | undefined): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineSet',
  metadata: { name: 'workers' },
  spec: { template: { spec: name === undefined ? {} : { provider: { name } } } },
})
const served = (text: string) => providersIn({ 'fleet/providers.json': text })
const said = (name: string | undefined, known?: ReadonlySet<string>) =>
  providerProblems([set(name)], known).map(({ code, message, isCertain }) => ({ code, message, isCertain }))

const FILE = '{"providers": [{"name": "process"}, {"name": "remote", "options": {"name": "own"}}]}'

test('a provider that the fleet says is not served is refused, with the name that was probably meant', () => {
  expect(said('proces', served(FILE))).toEqual([
    {
      code: 'KN3075',
      message: expect.stringMatching(
        /^no controller serves provider proces \(did you mean process\?\); served according to fleet\/providers.json: own, process;/,
      ) as unknown,
      isCertain: true,
    },
  ])
  expect([...said('process', served(FILE)), ...said('own', served(FILE)), ...said(undefined, served(FILE))]).toEqual([])
  // A provider that KubeNode includes is not served automatically.
  expect(said('aws', served(FILE))).toHaveLength(1)
})

test.each([undefined, 'no json', '[]', '{"providers": 1}'])(
  'where the fleet does not say what is served, an unknown name is only doubtful: %s',
  (text) => {
    const known = text === undefined ? undefined : served(text)
    expect(said('proces', known)).toEqual([
      {
        code: 'KN3076',
        message: expect.stringMatching(
          /^provider proces is none that KubeNode brings \(did you mean process\?\);/,
        ) as unknown,
        isCertain: false,
      },
    ])
    expect(OWN_PROVIDERS.flatMap((name) => said(name, known))).toEqual([])
  },
)
