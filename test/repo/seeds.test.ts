// A run of the tests draws from one seed (`test/support/tools/seed.ts`): the quick run is the same on every change, and a failure can be repeated.
import { expect, test } from 'vitest'
import { sourceFiles } from './source-files.ts'

const SEED = 'test/support/tools/seed.ts'
const OTHER_RANDOMNESS = /\bMath\.random\(\)|\bDate\.now\(\) %/

/** They run code in a cage and check that no randomness reaches it. */
const CAGED = ['test/attacks/fleet-code.test.ts', 'test/integration/render-cage.test.ts']

test('no test draws from any other randomness', () => {
  const files = sourceFiles('test', 'bench')
  const drawing = files.filter((f) => OTHER_RANDOMNESS.test(f.text)).map((f) => f.path)
  expect(drawing.filter((path) => !path.startsWith('test/repo/')).toSorted()).toEqual([...CAGED, SEED].toSorted())
})
