// The jobs of deploy/ci: their steps are run as they are written, with a forge that is a file.
import { execFileSync, spawnSync } from 'node:child_process'
import { inFullAll } from '#test/support/tools/full.ts'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly env?: Readonly<Record<string, string>>
  readonly with?: Readonly<Record<string, unknown>>
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>
}

const workflow = (name: string): Workflow => parse(readFileSync(`deploy/ci/github/${name}.yml`, 'utf8')) as Workflow
const stepsOf = (name: string): readonly Step[] => Object.values(workflow(name).jobs).flatMap((j) => j.steps)

interface GitLabJob {
  readonly script: readonly string[]
  readonly rules?: readonly unknown[]
  readonly environment?: unknown
}
const gitlab = parse(readFileSync('deploy/ci/gitlab/plan.gitlab-ci.yml', 'utf8')) as Readonly<Record<string, GitLabJob>>
const scriptOf = (job: string): string => (gitlab[job]?.script ?? []).join('\n')

const hasJq = spawnSync('jq', ['--version']).status === 0

let home = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'kubenode-jobs-'))
  mkdirSync(join(home, 'bin'))
  mkdirSync(join(home, 'plan'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

/** Answers what the job asks, and writes down every call with what came on its standard input. */
const GH = `#!/bin/bash
echo "$*" >> "$HOME/calls"
case "$*" in
  *"--input -"*) cat >> "$HOME/calls" ;;
  *"/pulls "*) [ -e "$HOME/no-pull" ] || echo 7 ;;
  *"--paginate"*"/files"*) [ ! -e "$HOME/no-files" ] || exit 1; [ ! -e "$HOME/files" ] || cat "$HOME/files" ;;
  *"--paginate"*"/comments"*)
    query=''; for word in "$@"; do [ "$before" != --jq ] || query=$word; before=$word; done
    [ ! -e "$HOME/comments" ] || jq -r "$query" "$HOME/comments" ;;
esac
for word in "$@"; do case "$word" in body=@*) cat "\${word#body=@}" >> "$HOME/calls" ;; esac; done
`

function program(name: string, text: string): void {
  writeFileSync(join(home, 'bin', name), text)
  chmodSync(join(home, 'bin', name), 0o755)
}

function run(script: string, env: Readonly<Record<string, string>>) {
  const path = `${join(home, 'bin')}:${process.env['PATH']}`
  return spawnSync('bash', ['-e', '-c', script], {
    cwd: home,
    encoding: 'utf8',
    env: { PATH: path, HOME: home, ...env },
  })
}

const OURS = { id: 42, user: { type: 'Bot', login: 'github-actions[bot]' }, body: '<!-- kubenode-plan -->\nold' }
/** It repeats what its users wrote. */
const OF_ANOTHER_BOT = { id: 41, user: { type: 'Bot', login: 'helpful[bot]' }, body: '<!-- kubenode-plan -->\nquoted' }

const RUN = {
  REPO: 'acme/fleet',
  SHA: 'a'.repeat(40),
  OWNER: 'stranger',
  BRANCH: 'x"; echo owned > "$HOME/owned',
  CONCLUSION: 'success',
  LINK: 'https://example.org/run',
}

/** What a job that the author of the pull request changed may leave behind. */
const FORGED: readonly (readonly [string, string, RegExp])[] = [
  ['to call people', 'look @acme/admins', /@acme/],
  ['with a quick action', '/merge\n/approve', /^\/(merge|approve)/m],
  ['with a quick action behind an old line end', 'x\r\n\r/merge', /[\r\n]\/merge/],
  ['with an indented quick action', '  \t/close', /^\s*\/close/m],
  ['to call people by a number', 'look &#64;acme/admins', /&#64;/],
  ['to call people by a number with zeros and no end', '<b>&#00064acme</b>', /&#0*64/],
  ['to call people by a hexadecimal number', 'look &#X40;acme and &#x0040;all', /&#[xX]0*40/],
  ['to call people by a name', 'look &commat;acme', /&commat/],
]

/** npm ci runs node-gyp where there is a binding.gyp, whose text names commands; a link in place of a folder brings files from anywhere. */
const RUN_OR_READ_BY_NPM: readonly (readonly [string])[] = [
  ['binding.gyp'],
  ['apps/one/binding.gyp'],
  ['inventory'],
  ['vendor'],
  ['rules'],
  ['rules/history/prod.jsonl.gz'],
]

describe('the job that posts', () => {
  beforeEach((context) => {
    if (!hasJq) context.skip('jq is not installed')
    program('gh', GH)
    writeFileSync(join(home, 'plan/plan.md'), '<!-- kubenode-plan -->\n### kubenode plan\n')
    writeFileSync(
      join(home, 'plan/plan.json'),
      JSON.stringify({ summary: '38 machines · 6 drains · ~110 min · medium' }),
    )
  })
  const script = stepsOf('plan-comment').find((s) => s.run !== undefined)?.run ?? ''
  const calls = () => (existsSync(join(home, 'calls')) ? readFileSync(join(home, 'calls'), 'utf8') : '')

  test('makes one comment, then edits it, and says the counts in the status of the commit', () => {
    expect(run(script, RUN).status).toBe(0)
    expect(calls()).toMatch(/--method POST repos\/acme\/fleet\/issues\/7\/comments -F body=@\/\S+/)
    expect(calls()).toContain('### kubenode plan')
    expect(calls()).toContain('38 machines · 6 drains · ~110 min · medium')
    expect(calls()).toContain('"state": "success"')
    rmSync(join(home, 'calls'))
    writeFileSync(join(home, 'comments'), JSON.stringify([OF_ANOTHER_BOT, OURS]))
    expect(run(script, RUN).status).toBe(0)
    expect(calls()).toMatch(/--method PATCH repos\/acme\/fleet\/issues\/comments\/42 -F body=@\/\S+/)
    expect(calls()).not.toContain('--method POST repos/acme/fleet/issues')
  })

  test('posts nothing that is too long, or that does not begin as a plan does', () => {
    for (const text of [
      `<!-- kubenode-plan -->\n${'x'.repeat(70_000)}`,
      '@everyone look\n<!-- kubenode-plan -->\n',
      '',
    ]) {
      writeFileSync(join(home, 'plan/plan.md'), text)
      expect(run(script, RUN).status).toBe(1)
      expect(calls()).not.toContain('comments')
      expect(calls()).toContain('"state": "error"')
    }
  })

  test.each(inFullAll(FORGED, 3))('a plan that its author wrote %s does nothing when it is posted', (_, text, raw) => {
    writeFileSync(join(home, 'plan/plan.md'), `<!-- kubenode-plan -->\n${text}\n`)
    expect(run(script, RUN).status).toBe(0)
    expect(calls()).toMatch(/\u200b/)
    expect(calls()).not.toMatch(raw)
  })

  test('posts nothing that is a link to another file, or too long once it is made safe', () => {
    writeFileSync(join(home, 'secret'), '<!-- kubenode-plan -->\nsecret\n')
    rmSync(join(home, 'plan/plan.md'))
    symlinkSync(join(home, 'secret'), join(home, 'plan/plan.md'))
    run(script, RUN)
    expect(calls()).not.toMatch(/comments|secret/)
    rmSync(join(home, 'plan/plan.md'))
    writeFileSync(join(home, 'plan/plan.md'), `<!-- kubenode-plan -->\n${'@'.repeat(60_000)}\n`)
    expect(run(script, RUN).status).toBe(1)
    expect(calls()).not.toContain('comments')
  })

  test('a plan that failed leaves a failed status, and a pull request that is closed gets nothing', () => {
    rmSync(join(home, 'plan/plan.md'))
    expect(run(script, { ...RUN, CONCLUSION: 'failure' }).status).toBe(0)
    expect(calls()).toContain('"state": "failure"')
    writeFileSync(join(home, 'plan/plan.md'), '<!-- kubenode-plan -->\n')
    writeFileSync(join(home, 'no-pull'), '')
    rmSync(join(home, 'calls'))
    expect(run(script, RUN).status).toBe(0)
    expect(calls()).not.toContain('issues')
  })

  test.each(
    inFullAll(
      [
        ['.github/workflows/plan.yml'],
        ['inventory/prod.json'],
        ['package.json'],
        ['package-lock.json'],
        ['apps/one/package.json'],
        ['.npmrc'],
        ['node_modules/kubenode/bin/kubenode'],
        ['vendor/kubenode-0.1.0.tgz'],
        ...RUN_OR_READ_BY_NPM,
      ],
      3,
    ),
  )('a pull request that changes %s is named as one that can forge its plan, first of all', (file) => {
    writeFileSync(join(home, 'files'), `fleet/a.ts\n${file}\nzebra.md\n`)
    expect(run(script, RUN).status).toBe(0)
    expect(calls()).toMatch(
      /^<!-- kubenode-plan -->\n🔴 \*\*This pull request changes what its own plan is made with\*\*[^\n]*\n\n### kubenode plan/m,
    )
    expect(calls()).toContain('the author changed what plans are made with · 38 machines')
  })

  test('one that changes fleet and rules is not, and one whose files are unknown or too many to list is', () => {
    writeFileSync(join(home, 'files'), 'fleet/a.ts\nrules/package.json.md\nfleet/inventory/x.ts\ndocs/.github/x\n')
    expect(run(script, RUN).status).toBe(0)
    expect(calls()).not.toContain('This pull request changes')
    rmSync(join(home, 'calls'))
    writeFileSync(join(home, 'files'), 'fleet/a.ts\n'.repeat(3_000))
    expect(run(script, RUN).status).toBe(0)
    expect(calls()).toContain('This pull request changes')
    rmSync(join(home, 'calls'))
    writeFileSync(join(home, 'no-files'), '')
    expect(run(script, RUN).status).not.toBe(0)
    expect(calls()).not.toContain('body=@')
  })

  test.each([
    ['a text', '"::set-env name=x::y"'],
    ['a list', '[1]'],
    ['broken', '{"summary": "ok"'],
    ['empty', ''],
  ])('a plan.json that is %s is a failed status and repeated nowhere', (_, text) => {
    writeFileSync(join(home, 'plan/plan.json'), text)
    const { status, stdout, stderr } = run(script, RUN)
    expect(status).toBe(1)
    expect(stdout + stderr).toBe('')
    expect(calls()).toContain('"state": "error"')
    expect(calls()).not.toContain('comments')
  })

  test('a summary with line ends, escapes and marks that turn the reading direction is one plain line', () => {
    const summary = '1 machine\n::set-env name=a::b\u001b[31m\u202e\u200b · low'
    writeFileSync(join(home, 'plan/plan.json'), JSON.stringify({ summary }))
    const { stdout } = run(script, RUN)
    expect(stdout).toBe('')
    expect(calls()).toContain('"description": "1 machine::set-env name=a::b[31m · low"')
  })

  test('names of branches and a summary of a stranger are never run', () => {
    writeFileSync(
      join(home, 'plan/plan.json'),
      JSON.stringify({ summary: '$(echo owned > owned)`echo owned > owned`' }),
    )
    expect(run(script, RUN).status).toBe(0)
    expect(existsSync(join(home, 'owned'))).toBe(false)
  })
})

describe('what the jobs may', () => {
  test('the one that runs code of a pull request reads only; the other checks nothing out and runs no program of it', () => {
    expect(workflow('plan').permissions).toEqual({ contents: 'read' })
    expect(stepsOf('plan').find((s) => s.uses?.startsWith('actions/checkout'))?.with).toMatchObject({
      'persist-credentials': false,
    })
    expect(workflow('plan-comment').permissions).toEqual({
      actions: 'read',
      'pull-requests': 'write',
      statuses: 'write',
    })
    expect(stepsOf('plan-comment').map((s) => s.uses?.split('@')[0] ?? 'run')).toEqual([
      'actions/download-artifact',
      'run',
    ])
    expect(readFileSync('deploy/ci/github/plan-comment.yml', 'utf8')).not.toMatch(/\b(npm|npx|node)\s/)
  })

  test('no step has words of an event inside its script', () => {
    for (const name of ['plan', 'plan-comment'])
      for (const { run: script = '' } of stepsOf(name)) expect(script).not.toContain('${{')
  })

  test('GitLab: every script is shell that can be read', () => {
    const jobs = parse(readFileSync('deploy/ci/gitlab/plan.gitlab-ci.yml', 'utf8')) as Readonly<
      Record<string, { readonly script: readonly string[]; readonly variables: Readonly<Record<string, string>> }>
    >
    for (const { script } of Object.values(jobs)) execFileSync('bash', ['-n', '-c', script.join('\n')])
    expect(jobs['plan-comment']?.variables).toMatchObject({ GIT_STRATEGY: 'none' })
  })
})

describe('the job that plans', () => {
  const script = stepsOf('plan').find((s) => s.run?.includes('kubenode plan') === true)?.run ?? ''
  const env = { MERGED: 'c'.repeat(40) }

  test('plans what the merge changes: a base that moved on since the branch was made is no change of the pull request', () => {
    const checkout = stepsOf('plan').find((s) => s.uses?.startsWith('actions/checkout') === true)
    // Without a ref it is the merge of both, as GitHub makes it.
    expect(checkout?.with).toEqual({ 'fetch-depth': 0, 'persist-credentials': false })
    const step = stepsOf('plan').find((s) => s.run?.includes('kubenode plan') === true)
    expect(step?.env).toEqual({ MERGED: '${{ github.sha }}' })
  })

  test('a plan that the commit brings is no result: it is gone before the first program runs', () => {
    const steps = stepsOf('plan').filter((s) => s.run !== undefined)
    writeFileSync(join(home, 'plan/plan.md'), '<!-- kubenode-plan -->\nforged\n')
    program('sudo', '#!/bin/bash\nexit 1\n')
    program('npm', '#!/bin/bash\nexit 1\n')
    for (const { run: text = '' } of steps) if (run(text, env).status !== 0) break
    expect(existsSync(join(home, 'plan'))).toBe(false)
  })

  test('plans between the two commits, from the inventories that are there', () => {
    program('npx', '#!/bin/bash\necho "$*" >> "$HOME/calls"\necho "{}"\n')
    mkdirSync(join(home, 'inventory'))
    writeFileSync(join(home, 'inventory/prod.json'), '{}')
    expect(run(script, env).status).toBe(0)
    const range = `${env.MERGED}^1..${env.MERGED} --inventory inventory/prod.json`
    expect(readFileSync(join(home, 'calls'), 'utf8')).toBe(
      `kubenode plan ${range} -o json\nkubenode plan ${range} -o markdown\n`,
    )
  })

  describe.each([
    ['of GitHub', script, env, `--base ${env.MERGED}^1 --commit ${env.MERGED}`],
    [
      'of GitLab',
      scriptOf('plan'),
      { CI_MERGE_REQUEST_DIFF_BASE_SHA: 'b'.repeat(40), CI_COMMIT_SHA: 'a'.repeat(40) },
      `--base ${'b'.repeat(40)} --commit ${'a'.repeat(40)} --weak-cage allow`,
    ],
  ])('changed rules and policies, in the job %s', (_, text, variables, range) => {
    /** The plan has this object among its changes; a replay answers with this text and code. */
    const npx = (kind: string, replayed = 'replayed', code = 0) => {
      program('npm', '#!/bin/bash\n')
      program(
        'npx',
        `#!/bin/bash\necho "$*" >> "$HOME/calls"\ncase "$*" in *backtest*) printf '${replayed}'; exit ${code} ;; *json) echo '{"ref": {"kind": "${kind}"}}' ;; *) echo '# plan' ;; esac\n`,
      )
    }
    const plan = () => readFileSync(join(home, 'plan/plan.md'), 'utf8')
    const replays = () =>
      readFileSync(join(home, 'calls'), 'utf8')
        .split('\n')
        .filter((line) => line.includes('backtest'))
    beforeEach(() => mkdirSync(join(home, 'rules/history'), { recursive: true }))
    const keep = (...names: readonly string[]) => {
      for (const name of names) writeFileSync(join(home, 'rules/history', name), '')
    }

    test.each([
      ['NodeRemedier', 0],
      ['DefenderPolicy', 0],
      ['NodeRemedier', 1],
    ])(
      'a changed %s is replayed on each history, below the plan, whatever the gates say (exit code %i)',
      (kind, code) => {
        npx(kind, 'replayed\\n', code)
        keep('prod-1.jsonl.gz', 'prod-2.jsonl.gz', 'README.md')
        expect(run(text, variables).status).toBe(0)
        expect(replays()).toEqual(
          ['prod-1', 'prod-2'].map(
            (name) =>
              `kubenode rules backtest --history rules/history/${name}.jsonl.gz --fleet-cluster ${name} ${range} -o markdown`,
          ),
        )
        expect(plan()).toBe('# plan\n\n### Changed rules and policies, replayed\n\nreplayed\nreplayed\n')
      },
    )

    test('other changes are not replayed', () => {
      npx('MachineSet')
      keep('prod-1.jsonl.gz')
      expect(run(text, variables)).toMatchObject({
        status: 0,
        stdout: 'no rule or policy changes: no history is replayed\n',
      })
      expect([replays(), plan()]).toEqual([[], '# plan\n'])
    })

    test('without a history, and for one that cannot be replayed, the comment says so', () => {
      npx('NodeRemedier', '', 2)
      expect(run(text, variables).status).toBe(0)
      expect(plan()).toContain('There is no history in `rules/history`')
      keep('prod-1.jsonl.gz')
      expect(run(text, variables).status).toBe(0)
      expect(plan()).toContain('A history could not be replayed')
    })

    test('a replay that is too long for a comment is kept, and the comment says so', () => {
      npx('NodeRemedier', `%${text === script ? 70_000 : 1_000_000}s`)
      keep('prod-1.jsonl.gz')
      expect(run(text, variables).status).toBe(0)
      expect(plan()).toBe(
        `# plan\n\nRules or policies change; their replay is too long for this ${text === script ? 'comment' : 'note'} and is with the results of the job.\n`,
      )
      expect(readFileSync(join(home, 'plan/backtest.md'), 'utf8').length).toBeGreaterThan(70_000)
    })

    test('histories for which the time does not suffice are named, and the plan is there', () => {
      npx('NodeRemedier', 'replayed\\n')
      // A clock that only replays move: each takes its limit, and the first does not end within it.
      writeFileSync(join(home, 'time'), '0')
      program('date', '#!/bin/bash\ncat "$HOME/time"\n')
      program(
        'timeout',
        `#!/bin/bash
echo "backtest may take $1" >> "$HOME/calls"
echo $(($(cat "$HOME/time") + $1)) > "$HOME/time"
shift
"$@"
case "$*" in *prod-1*) exit 124 ;; esac
`,
      )
      keep('prod-1.jsonl.gz', 'prod-2.jsonl.gz', 'prod-3.jsonl.gz', 'prod-4.jsonl.gz')
      expect(run(text, variables).status).toBe(0)
      expect(replays().filter((line) => line.includes('may take'))).toEqual([
        'backtest may take 900',
        'backtest may take 300',
      ])
      expect(plan()).toMatch(/^# plan\n/)
      expect(plan()).toContain(
        'Not replayed, since the time was over (15 minutes each, 20 for all): prod-1 prod-3 prod-4\n',
      )
    })

    test('a link in place of a history is not followed', () => {
      npx('NodeRemedier')
      writeFileSync(join(home, 'secret'), '')
      symlinkSync(join(home, 'secret'), join(home, 'rules/history/prod-1.jsonl.gz'))
      expect(run(text, variables).status).toBe(0)
      expect(replays()).toEqual([])
    })
  })

  test('an error of the plan fails the job, and what was said of it is kept', () => {
    program('npx', '#!/bin/bash\necho "{}"\nexit 2\n')
    expect(run(script, env).status).toBe(2)
    expect(readFileSync(join(home, 'plan/plan.md'), 'utf8')).toBe('{}\n')
  })
})

/** Answers the questions of the job, and writes down every call with the bodies that it sends from files. */
const CURL = `#!/bin/bash
echo "$*" >> "$HOME/calls"
for word in "$@"; do case "$word" in body@*) cat "\${word#body@}" >> "$HOME/calls" ;; esac; done
case "$*" in
  *"/statuses/"*) [ ! -e "$HOME/no-right" ] || exit 22 ;;
  *"/user") echo '{"id": 5}' ;;
  *"/merge_requests/3") [ ! -e "$HOME/no-files" ] || exit 22; if [ -e "$HOME/count" ]; then cat "$HOME/count"; else echo '{"changes_count": "0"}'; fi ;;
  *"/diffs?per_page=100&page=1") if [ -e "$HOME/diffs" ]; then cat "$HOME/diffs"; else echo '[]'; fi ;;
  *"/diffs?"*) echo '[]' ;;
  *"per_page=100"*)
    other='{"id": 41, "author": {"id": 6}, "body": "<!-- kubenode-plan --> of a stranger"}'
    if [ -e "$HOME/known" ]; then echo "[$other, {\\"id\\": 42, \\"author\\": {\\"id\\": 5}, \\"body\\": \\"<!-- kubenode-plan -->\\"}]"; else echo "[$other]"; fi ;;
esac
`

describe('the jobs of GitLab', () => {
  const TOKEN = 'glpat-c0mment'
  const env = {
    CI_API_V4_URL: 'https://gitlab.example.org/api/v4',
    CI_MERGE_REQUEST_PROJECT_ID: '7',
    CI_MERGE_REQUEST_IID: '3',
    CI_PROJECT_ID: '7',
    CI_COMMIT_SHA: 'a'.repeat(40),
    CI_PIPELINE_ID: '900',
    CI_MERGE_REQUEST_DIFF_BASE_SHA: 'b'.repeat(40),
    KUBENODE_COMMENT_TOKEN: TOKEN,
  }
  const api = `${env.CI_API_V4_URL}/projects/7`
  const calls = () => (existsSync(join(home, 'calls')) ? readFileSync(join(home, 'calls'), 'utf8') : '')
  beforeEach((context) => {
    if (!hasJq) context.skip('jq is not installed')
    program('curl', CURL)
    writeFileSync(join(home, 'plan/plan.md'), '<!-- kubenode-plan -->\n### kubenode plan\n')
    writeFileSync(join(home, 'plan/plan.json'), JSON.stringify({ summary: '38 machines · $(echo owned > owned)' }))
  })

  test('the one that posts makes one note, then edits its own and never that of another, and says the counts in the status', () => {
    expect(run(scriptOf('plan-comment'), env).status).toBe(0)
    expect(calls()).toContain(`--request POST ${api}/merge_requests/3/notes --data-urlencode body@/`)
    expect(calls()).toContain('### kubenode plan')
    expect(calls()).toContain(`--request POST ${api}/statuses/${env.CI_COMMIT_SHA} --data-urlencode state=success`)
    expect(calls()).toContain('pipeline_id=900')
    expect(calls()).toContain('description=38 machines · $(echo owned > owned)')
    rmSync(join(home, 'calls'))
    writeFileSync(join(home, 'known'), '')
    expect(run(scriptOf('plan-comment'), env).status).toBe(0)
    expect(calls()).toContain(`--request PUT ${api}/merge_requests/3/notes/42 --data-urlencode body@/`)
    expect(calls()).not.toMatch(/--request POST \S+notes|notes\/41/)
    expect(existsSync(join(home, 'owned'))).toBe(false)
  })

  test('nothing is posted that is too long, or that does not begin as a plan does, and a refused status fails the job', () => {
    for (const text of [
      `<!-- kubenode-plan -->\n${'x'.repeat(1_000_001)}`,
      '@all look\n<!-- kubenode-plan -->\n',
      '',
    ]) {
      writeFileSync(join(home, 'plan/plan.md'), text)
      expect(run(scriptOf('plan-comment'), env).status).toBe(1)
      expect(calls()).toBe('')
    }
    writeFileSync(join(home, 'plan/plan.md'), '<!-- kubenode-plan -->\n')
    writeFileSync(join(home, 'no-right'), '')
    expect(run(scriptOf('plan-comment'), env).status).not.toBe(0)
  })

  test.each(inFullAll(FORGED, 3))('a plan that its author wrote %s does nothing when it is posted', (_, text, raw) => {
    writeFileSync(join(home, 'plan/plan.md'), `<!-- kubenode-plan -->\n${text}\n`)
    expect(run(scriptOf('plan-comment'), env).status).toBe(0)
    expect(calls()).toMatch(/\u200b/)
    expect(calls()).not.toMatch(raw)
  })

  /** As GitLab says what a merge request changes; it may list less than it counts. */
  const changes = (files: readonly string[], count = String(files.length), before = files) => {
    writeFileSync(
      join(home, 'diffs'),
      JSON.stringify(files.map((new_path, i) => ({ new_path, old_path: before[i], diff: '@@ -1 +1 @@' }))),
    )
    writeFileSync(join(home, 'count'), JSON.stringify({ changes_count: count }))
  }

  test.each(
    inFullAll(
      [
        ['.gitlab-ci.yml'],
        ['.gitlab/ci/plan.yml'],
        ['inventory/prod.json'],
        ['package.json'],
        ['apps/one/package-lock.json'],
        ['.npmrc'],
        ['node_modules/kubenode/bin/kubenode'],
        ['vendor/kubenode-0.1.0.tgz'],
        ...RUN_OR_READ_BY_NPM,
      ],
      3,
    ),
  )('a merge request that changes %s is named as one that can forge its plan, first of all', (file) => {
    for (const [after, before] of [
      [file, file],
      ['docs/moved.md', file],
    ] as const) {
      changes(['fleet/a.ts', after], '2', ['fleet/a.ts', before])
      expect(run(scriptOf('plan-comment'), env).status).toBe(0)
      expect(calls()).toMatch(
        /^<!-- kubenode-plan -->\n🔴 \*\*This merge request changes what its own plan is made with\*\*[^\n]*\n\n### kubenode plan/m,
      )
      expect(calls()).toContain('description=the author changed what plans are made with · 38 machines')
      rmSync(join(home, 'calls'))
    }
  })

  test('one that changes fleet and rules is not, and one whose files are unknown or not all listed is', () => {
    changes(['fleet/a.ts', 'rules/package.json.md', 'fleet/inventory/x.ts', 'docs/.gitlab-ci.yml'])
    expect(run(scriptOf('plan-comment'), env).status).toBe(0)
    expect(calls()).not.toContain('This merge request changes')
    for (const count of ['1000+', '5', '']) {
      rmSync(join(home, 'calls'))
      changes(['fleet/a.ts'], count)
      expect(run(scriptOf('plan-comment'), env).status).toBe(0)
      expect(calls()).toContain('This merge request changes')
    }
    rmSync(join(home, 'calls'))
    writeFileSync(join(home, 'no-files'), '')
    expect(run(scriptOf('plan-comment'), env).status).not.toBe(0)
    expect(calls()).not.toContain('body@')
  })

  test('a link to another file is not posted', () => {
    writeFileSync(join(home, 'secret'), '<!-- kubenode-plan -->\nsecret\n')
    for (const name of ['plan.md', 'plan.json']) {
      rmSync(join(home, 'plan', name))
      symlinkSync(join(home, 'secret'), join(home, 'plan', name))
      expect(run(scriptOf('plan-comment'), env).status).toBe(1)
      expect(calls()).toBe('')
      rmSync(join(home, 'plan', name))
      writeFileSync(join(home, 'plan', name), name === 'plan.md' ? '<!-- kubenode-plan -->\n' : '{}')
    }
  })

  test('the token is for the job that posts only: the other one stops where it finds it', () => {
    expect(gitlab['plan-comment']?.environment).toEqual({ name: 'kubenode-plan-comment', action: 'access' })
    expect(gitlab['plan']?.environment).toBeUndefined()
    program('npm', '#!/bin/bash\necho "npm" >> "$HOME/calls"\n')
    expect(run(scriptOf('plan'), env).status).toBe(1)
    expect(calls()).toBe('')
    const { KUBENODE_COMMENT_TOKEN: _, ...bare } = env
    expect(run(scriptOf('plan-comment'), bare)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('a fork has none') as unknown,
    })
    expect(calls()).toBe('')
  })

  test('a plan with problems is posted, too, and its status is a failed one', () => {
    expect(gitlab['plan-comment']?.rules).toEqual([
      { if: '$CI_PIPELINE_SOURCE == "merge_request_event"', when: 'always' },
    ])
    for (const plan of [{ problems: [{ isCertain: true }] }, { clusters: [{ problems: ['no such kind'] }] }]) {
      writeFileSync(join(home, 'plan/plan.json'), JSON.stringify({ summary: '1 machine', ...plan }))
      expect(run(scriptOf('plan-comment'), env).status).toBe(0)
      expect(calls()).toContain('state=failed')
      rmSync(join(home, 'calls'))
    }
    writeFileSync(
      join(home, 'plan/plan.json'),
      '{"summary": "ok", "problems": [{"isCertain": false}], "clusters": [{"problems": []}]}',
    )
    run(scriptOf('plan-comment'), env)
    expect(calls()).toContain('state=success')
    rmSync(join(home, 'calls'))
    writeFileSync(join(home, 'plan/plan.json'), '"text"')
    expect(run(scriptOf('plan-comment'), env).status).toBe(1)
    expect(calls()).toBe('')
  })

  test('a plan that the commit brings is no result of the one that plans, also where npm fails', () => {
    program('npm', '#!/bin/bash\nexit 1\n')
    const { KUBENODE_COMMENT_TOKEN: _, ...bare } = env
    expect(run(scriptOf('plan'), bare).status).toBe(1)
    expect(existsSync(join(home, 'plan'))).toBe(false)
  })

  test('the one that plans takes the inventories that are there', () => {
    program('npm', '#!/bin/bash\necho "npm $*" >> "$HOME/calls"\n')
    program('npx', '#!/bin/bash\necho "$*" >> "$HOME/calls"\necho "{}"\n')
    mkdirSync(join(home, 'inventory'))
    writeFileSync(join(home, 'inventory/prod.json'), '{}')
    const { KUBENODE_COMMENT_TOKEN: _, ...bare } = env
    expect(run(scriptOf('plan'), bare).status).toBe(0)
    const args = `${env.CI_MERGE_REQUEST_DIFF_BASE_SHA}..${env.CI_COMMIT_SHA} --weak-cage allow --inventory inventory/prod.json`
    expect(calls()).toBe(
      `npm ci\nkubenode plan ${args} -o json\nkubenode plan ${args} -o markdown --max-chars 900000\n`,
    )
  })
})
