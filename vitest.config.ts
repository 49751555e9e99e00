// One vitest project a layer of tests, so that `npm run ok` can run the quick layers alone.
import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { isFull } from '#test/support/tools/full.ts'
import { LongestFirst } from '#test/support/tools/longest-first.ts'
import { StuckRun } from '#test/support/tools/stuck-run.ts'

const exclude = [...configDefaults.exclude, ...(isFull ? [] : ['**/*.full.test.ts'])]

/** A hook starts servers, and a start waits up to five minutes on a busy machine: it must end by its own message, and its programs with it. */
const HOOK_MS = 420_000

/** Tests with servers and programs: seconds on an idle machine, and a loaded one may take thirty times that. */
const PATIENCE_MS = 300_000

/** What is polled for comes at once on an idle machine; how long it takes on a loaded one is no result. Before the test ends, so that it says what was seen. */
const POLLS_SHARE = 0.8

/** `shares`: files run one after the other in the same few processes and load the sources once, not each on its own. */
const project = (name: string, include: string[], testTimeout = 10_000, shares = false) => ({
  test: {
    name,
    include,
    exclude,
    testTimeout,
    hookTimeout: Math.max(testTimeout, HOOK_MS),
    expect: { poll: { timeout: POLLS_SHARE * testTimeout } },
    pool: 'forks' as const,
    setupFiles: ['compiled-once', 'end-with-runner', 'own-umask', 'seeded-properties'].map(
      (name) => `test/support/tools/${name}.ts`,
    ),
    isolate: !shares,
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
})

export default defineConfig({
  test: {
    allowOnly: false,
    passWithNoTests: false,
    // Three for each core: files that wait for processes run beside files that compute, and each has folders and ports of its own.
    maxWorkers: 3 * availableParallelism(),
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new StuckRun(), './test/support/tools/honest-reporter.ts'],
    projects: [
      project(
        'unit',
        [
          'src/**/*.test.ts',
          'build/**/*.test.ts',
          'bench/**/*.test.ts',
          'deploy/**/*.test.ts',
          'rules/**/*.test.ts',
          'fleet/**/*.test.ts',
          'test/support/**/*.test.ts',
          'test/doubles/**/*.test.ts',
        ],
        120_000,
        true,
      ),
      project('repo', ['test/repo/**/*.test.ts'], 120_000, true),
      project('contract', ['test/contract/**/*.test.ts'], PATIENCE_MS, true),
      project('sim', ['test/sim/**/*.test.ts'], 600_000, true),
      project('fuzz', ['test/fuzz/**/*.test.ts'], 120_000, true),
      project('attacks', ['test/attacks/**/*.test.ts'], PATIENCE_MS, true),
      project('integration', ['test/integration/**/*.test.ts'], PATIENCE_MS, true),
      project('browser', ['test/browser/**/*.test.ts'], PATIENCE_MS),
      project('e2e', ['test/e2e/**/*.test.ts'], PATIENCE_MS),
    ],
  },
})
