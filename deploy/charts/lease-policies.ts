// A Lease decides who leads. A client that could hold another program's Lease would stop that program, so only the program itself may write it.
import { agentLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { all, any, isInstaller, isProgram, LEASES, operations, quoted, type AdmissionPolicy } from './policy.ts'
import { accountOf, PROGRAMS } from './system.ts'

/** Four times what leaders request: a hold that is not renewed is over within a minute. */
const LONGEST_HOLD_SECONDS = 60
/** Empties a namespace that is deleted. */
export const CLEANERS = ['system:kube-controller-manager', 'system:serviceaccount:kube-system:namespace-controller']

const OF_PROGRAMS = PROGRAMS.map((program) => quoted(accountOf(program))).join(', ')
const OF_AGENTS = quoted(agentLeaseName(''))
const LEASE_NAME = `(object == null ? oldObject : object).metadata.?name.orValue('')`
const isOfPrograms = `variables.name in [${OF_PROGRAMS}]`

const leaders: AdmissionPolicy = {
  name: 'kubenode-leaders',
  rules: [{ ...LEASES, operations: ['CREATE', 'UPDATE', 'DELETE'] }],
  namespaces: [SYSTEM_NAMESPACE],
  // None of what follows is about these, and a condition costs a third of that.
  matchConditions: [{ name: 'not-of-an-agent', expression: `!(${LEASE_NAME}.startsWith(${OF_AGENTS}))` }],
  variables: [{ name: 'name', expression: LEASE_NAME }],
  validations: [
    {
      expression: any(
        `!(${isOfPrograms})`,
        ...PROGRAMS.map((program) => all(`variables.name == ${quoted(accountOf(program))}`, isProgram(program))),
        all(operations('DELETE'), `request.userInfo.username in [${CLEANERS.map(quoted).join(', ')}]`),
        isInstaller,
      ),
      message: 'only the program itself writes the Lease by which it elects its leader',
    },
    {
      expression: any(
        `!(${isOfPrograms})`,
        'object == null',
        `object.?spec.?leaseDurationSeconds.orValue(0) <= ${LONGEST_HOLD_SECONDS}`,
      ),
      message: `a program holds its Lease for at most ${LONGEST_HOLD_SECONDS} seconds at a time`,
    },
    {
      expression: `!(${all(operations('DELETE'), isProgram('controllers'))})`,
      message: 'controllers delete the Leases of agents, and no others',
    },
  ],
}

export const leasePolicies: readonly AdmissionPolicy[] = [leaders]
