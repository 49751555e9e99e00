// A revoked key writes nothing, also on a kube-apiserver, which knows no revocation of certificates: its agent's writes are compared with a list. The list is a
// parameter, and a missing one refuses nothing: to lose it must not take all agents down.
import { agentKeyGroup, machineUidGroup, REVOKED_AGENTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { all, any, isInstaller, isProgram, operations, quoted, type AdmissionPolicy } from './policy.ts'
import { accountUid, isAgent } from './agent-accounts.ts'
import { CLEANERS } from './lease-policies.ts'

const UID_PREFIX = machineUidGroup('')
const KEY_PREFIX = agentKeyGroup('')
const KEY_LENGTH = agentKeyGroup('0'.repeat(64)).length - KEY_PREFIX.length

const groupsAfter = (prefix: string): string =>
  `request.userInfo.groups.filter(g, g.startsWith(${quoted(prefix)})).map(g, g.substring(${prefix.length}))`

const revokedAgents: AdmissionPolicy = {
  name: 'kubenode-revoked-agents',
  parameter: { namespace: SYSTEM_NAMESPACE, name: REVOKED_AGENTS },
  rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }],
  matchConditions: [
    {
      name: 'an-agent',
      expression: isAgent,
    },
  ],
  variables: [
    { name: 'account', expression: accountUid },
    { name: 'uids', expression: `variables.account != '' ? [variables.account] : ${groupsAfter(UID_PREFIX)}` },
    { name: 'keys', expression: groupsAfter(KEY_PREFIX) },
    { name: 'revoked', expression: `params.?data.orValue({})` },
  ],
  validations: [
    {
      // An entry has the keys that were recorded after the revocation: the same as acceptsKey in src/identity/agent-key.ts.
      expression: any(
        '!variables.uids.exists(u, u in variables.revoked)',
        // A token names no key: it counts while there is a later one, and the account before it was deleted.
        all(`variables.account != ''`, `variables.revoked[variables.uids[0]].contains(' ')`),
        all(
          `variables.account == ''`,
          'variables.uids.size() == 1',
          'variables.keys.size() == 1',
          `variables.keys[0].size() == ${KEY_LENGTH}`,
          'variables.revoked[variables.uids[0]].contains(variables.keys[0])',
        ),
      ),
      message: 'the key of this agent was revoked',
    },
  ],
}

/** A thief who could write the list could stop every agent, or let a revoked key write again. */
const list: AdmissionPolicy = {
  name: 'kubenode-revoked-list',
  rules: [
    { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['configmaps'] },
  ],
  namespaces: [SYSTEM_NAMESPACE],
  matchConditions: [
    {
      name: 'the-list',
      expression: `(object == null ? oldObject : object).metadata.?name.orValue('') == ${quoted(REVOKED_AGENTS)}`,
    },
  ],
  variables: [],
  validations: [
    {
      expression: any(
        all(operations('UPDATE'), isProgram('approver')),
        // One that was deleted is made again without content, which revokes no agent and admits none.
        all(
          operations('CREATE'),
          isProgram('controllers'),
          `object.?data.orValue({}).size() == 0`,
          `object.?binaryData.orValue({}).size() == 0`,
          `object.?immutable.orValue(false) == false`,
        ),
        all(operations('DELETE'), `request.userInfo.username in [${CLEANERS.map(quoted).join(', ')}]`),
        isInstaller,
      ),
      message: `only the approver writes ConfigMap ${REVOKED_AGENTS}`,
    },
  ],
}

export const revocationPolicies: readonly AdmissionPolicy[] = [revokedAgents, list]
