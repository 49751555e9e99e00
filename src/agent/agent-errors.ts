// The numbered errors of agent.
import { errorTable } from '#lib/error-table.ts'

export const agentErrors = errorTable({
  KN8001: {
    text: 'cannot start a second agent on {stateFolder}: another one is running',
    next: 'stop it first',
  },
  KN8002: {
    text: 'cannot lock {stateFolder}: {why}',
    next: 'check the permissions of the folder',
  },
  KN8003: {
    text: 'cannot join with join.json: {what}',
    next: 'have the machine made again, or run kubenode agent join',
  },
  KN8004: {
    text: 'cannot join: this host has {what} {seen}, and the agent needs {floor} or newer',
    next: 'upgrade the host first',
  },
  KN8005: {
    text: 'cannot start as {machine}: this identity was made on another host ({host}, here {host2})',
    next: 'remove the state folder of the agent and join again',
  },
  KN8006: {
    text: 'cannot get a certificate: the request {name} was refused: {no}',
    next: 'check that the Machine exists and that its join token was not used before',
  },
  KN8007: {
    text: 'cannot use the certificate that was signed for {machine}: it is for another key or name',
    next: 'check the signer of the cluster',
  },
  KN8008: {
    text: 'cannot join: there is neither an identity nor a join.json in {path}',
    next: 'run kubenode agent join there',
  },
  KN8009: {
    text: 'cannot join as {machine}: the join token is not valid any more',
    next: 'have the machine made again for a new one',
  },
  KN8010: {
    text: 'cannot fetch {place}: {why}',
    next: 'it is tried again',
  },
  KN8011: {
    text: 'cannot fetch {place}: it is neither below the artifact base nor of an allowed origin',
    next: "add {origin} to the agent's allowed origins",
  },
  KN8012: {
    text: 'cannot use {place}: {got} bytes with digest {digest}… came instead of {size} with {sha256}…',
    next: 'put the artifact that was signed there',
  },
  KN8013: {
    text: 'cannot install {component} {version}: {why}',
    next: 'correct the component in the fleet',
  },
  KN8014: {
    text: 'cannot install {component} {version}: MachineComponent {name} not found',
    next: 'commit it to the fleet; retried automatically',
  },
  KN8015: {
    text: 'cannot install {component} {version}: {name} is {component2} {version2}',
    next: 'correct its spec or its name in the fleet',
  },
  KN8016: {
    text: 'cannot install {component} {version}: type {type} is not installed by the agent',
    next: 'use type Package or Script',
  },
  KN8017: {
    text: 'cannot configure {component}: ComponentConfig {name} is not what its digest says',
    next: 'commit the configuration again; its content never changes',
  },
  KN8018: {
    text: 'cannot install {component} {version}: it has no artifact for {os}/{arch}',
    next: 'publish an artifact for this platform',
  },
  KN8019: {
    text: 'cannot install {component} {version}: {why}',
    next: 'correct the component, or use another version',
  },
  KN8020: {
    text: 'cannot unpack the archive: {why}',
    next: 'pack it again with kubenode artifact pack',
  },
  KN8021: {
    text: 'cannot install {component} {version}: {path} is no plain path',
    next: 'use a path without .. in the component',
  },
  KN8022: {
    text: 'cannot render {path} of {component} {version}: {why}',
    next: 'add it to the values in fleet/',
  },
  KN8023: {
    text: "cannot install {component}: {first} is somebody else's",
    next: 'move it away, and it is tried again',
  },
  KN8024: {
    text: 'cannot configure {component}: the secret value at {path} is not available: {why}',
    next: 'check the sealed value; retried automatically',
  },
  KN8025: {
    text: 'cannot configure {component}: this node has no key that opens secret values',
    next: 'make the machine join again, which makes its key',
  },
  KN8026: {
    text: 'cannot configure {component}: ComponentConfig {name} not found',
    next: 'commit it to the fleet; retried automatically',
  },
  KN8030: {
    text: 'cannot start {component}: {why}',
    next: 'see {logPath}',
  },
  KN8031: {
    text: 'cannot stop {component}: process {pid} hangs in the kernel',
    next: 'the node may need a reboot',
  },
  KN8032: {
    text: 'cannot start {component}: its service names a systemd unit, and there is no systemd here',
    next: 'use service.exec, or a host with systemd',
  },
  KN8033: {
    text: 'cannot run the hook {program}: {why}: {said}',
    next: 'correct the hook of the component',
  },
  KN8034: {
    text: 'cannot start {component}: there is no user {user} on this node',
    next: 'make it in the preInstall hook',
  },
  KN8035: {
    text: 'cannot start {component}: it shall run as {user}, and an agent that is not root (it has uid {self}) cannot change users',
    next: 'run the agent as root, or drop service.user',
  },
  KN8036: {
    text: 'cannot write a unit: {text} holds a control character',
    next: 'remove it from the component',
  },
  KN8037: {
    text: 'cannot run systemctl {command}: {answer}',
    next: 'retried automatically',
  },
  KN8038: {
    text: 'cannot start {component}: systemd has no unit {unit} (it says {load})',
    next: 'the component must bring it, or say what to run in service.exec',
  },
  KN8039: {
    text: 'cannot start {component}: the unit {unit} belongs to the component {owner}',
    next: 'use another unit name, or remove that component first',
  },
  KN8040: {
    text: 'cannot {event} {component} in state {from}: {refusal}',
    next: 'this is a bug',
  },
  KN8041: {
    text: 'cannot write the record of {component}: it makes no sense',
    next: 'this is a bug',
  },
  KN8042: {
    text: 'cannot switch {component}: it has no record',
    next: 'this is a bug',
  },
  KN8043: {
    text: 'cannot use {component} {version}: its slot {id} is not whole',
    next: 'the component is installed again',
  },
  KN8044: {
    text: 'cannot put {path} of {component} back: a folder is in its place',
    next: 'move it away',
  },
  KN8045: {
    text: 'cannot put {path} of {component} back: no whole copy of it is on the node',
    next: 'reinstall it',
  },
  KN8050: {
    text: 'cannot switch the agent: its supervisor did not start it',
    next: 'run kubenode agent join on the host again',
  },
  KN8051: {
    text: 'cannot switch the agent: {gaveUp}',
    next: 'commit another version of the agent',
  },
  KN8052: {
    text: 'cannot join as {machine} of {cluster}: this host has {who} in {state} already',
    next: 'stop its agent and remove that folder to make it another machine',
  },
  KN8053: {
    text: 'cannot join: the agent of a host runs as root',
    next: 'run this line with sudo',
  },
  KN8054: {
    text: 'cannot join again as {machine} of {cluster}: this host is {machine2} of {cluster2}',
    next: 'stop its agent and remove {state} to make it another machine',
  },
  KN8055: {
    text: 'cannot start {component}: somebody has masked the unit {unit}',
    next: 'run systemctl unmask {unit} there when it shall run again',
  },
  KN8060: {
    text: 'cannot {what}: there is no {which}',
    next: 'commit it to the fleet',
  },
  KN8090: {
    text: 'cannot {what} {path}: {why}',
    next: 'make the folder first',
  },
})
