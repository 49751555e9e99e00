// Machines as TypeScript for a fleet repository. Pure. Every value is written as JSON, so that nothing in a name or label can become code.
import type { Machine } from '#api/kinds/machine.ts'

export const machineCode = (machines: readonly Machine[]): string =>
  [
    `import { type ClusterChart, Machine } from 'kubenode/constructs'`,
    '',
    'export function declareImported(chart: ClusterChart): void {',
    ...machines.flatMap(({ metadata: { name = '', annotations, labels }, spec }) => [
      `  new Machine(chart, ${JSON.stringify(name)}, ${indented({ metadata: { name, annotations, labels }, spec })})`,
    ]),
    '}',
    '',
  ].join('\n')

const indented = (value: object): string => JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')
