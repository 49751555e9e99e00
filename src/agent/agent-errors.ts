// The numbered errors of the agent.
import { errorTable } from '#lib/error-table.ts'

export const agentErrors = errorTable({
  KN8001: {
    text: 'cannot start the agent on {stateFolder}: another agent is already running',
    next: 'stop the running agent first',
  },
  KN8087_lock: {
    text: 'cannot lock {stateFolder}: {why}',
    next: 'check its permissions and the room on its disk',
  },
  KN8003: {
    text: 'cannot join with join.json: {what}',
    next: 'print the line again with kubenode machine join-command, or recreate the machine',
  },
  KN8004: {
    text: 'cannot join: this host has {what} {seen}, and the agent needs {floor} or newer',
    next: 'upgrade the host first',
  },
  KN8004_import: {
    text: 'this node has {what} {seen}, and the agent needs {floor} or newer',
    next: 'upgrade the host first, then import it',
  },
  KN8005: {
    text: 'cannot start as {machine}: this identity was created on another host ({boundHost}, this host is {thisHost})',
    next: 'to make this host a machine of its own, run kubenode agent leave on it, which changes nothing of {machine}, then join it; never remove the folder of the agent, which holds the originals of adopted files',
  },
  KN8005_alive: {
    text: 'cannot start as {machine}: another host with this identity and this machine id is alive and sends its heartbeats',
    next: 'on the copy, run rm /etc/machine-id /var/lib/dbus/machine-id, systemd-machine-id-setup and kubenode agent leave, which change nothing of {machine}, then join it as a machine of its own; never remove the folder of the agent',
  },
  KN8006: {
    text: 'cannot get a certificate: the request {name} was refused: {no}',
    next: 'check that the Machine exists and that its join token was not used before',
  },
  KN8007: {
    text: 'cannot use the certificate signed for {machine}: key or name does not match',
    next: 'check the signer of the cluster',
  },
  KN8008: {
    text: 'cannot join: there is neither an identity nor a join.json in {path}',
    next: 'if this host had joined before, run kubenode machine readmit NAME --token with a kubeconfig of the cluster; unless its provider then hands it the token, run the line of kubenode machine join-command NAME on this host',
  },
  KN8003_token: {
    text: 'cannot join as {machine}: the join token is no longer valid',
    next: 'for a new one, print the line again with kubenode machine join-command {machine}, or recreate the machine; to give the host up, run kubenode agent leave on it',
  },
  KN8010: {
    text: 'cannot fetch {place}: {why}',
    next: 'retried automatically',
  },
  KN8010_authority: {
    text: 'cannot fetch {place}: another authority signed the certificate of {origin} than the one that this host joined with ({why})',
    next: 'put the earlier Secret kubenode-artifacts-tls back, or let the host join again: kubenode machine readmit NAME --token, then the line of kubenode machine join-command NAME; another server that answers there gives this too',
  },
  KN8011: {
    text: 'cannot fetch {place}: it is outside the artifact base and not from an allowed origin',
    next: "add {origin} to the agent's allowed origins",
  },
  KN8012: {
    text: 'cannot use {place}: received {got} bytes with digest {digest}…, expected {size} bytes with digest {sha256}…',
    next: 'upload the artifact that was signed',
  },
  KN8013: {
    text: 'cannot install {component} {version}: {why}',
    next: 'correct the component in the fleet',
  },
  KN8013_trust: {
    text: 'cannot install {component} {version}: {why}',
    next: 'sign it with keys that this host trusts, or give the fleet a trust document that has its keys (docs/tasks/signing-keys.md)',
  },
  KN8014: {
    text: 'cannot install {component} {version}: MachineComponent {name} not found',
    next: 'commit it to the fleet; retried automatically',
  },
  KN8015: {
    text: 'cannot install {component} {version}: MachineComponent {name} is for {declaredComponent} {declaredVersion}',
    next: 'correct its spec or its name in the fleet',
  },
  KN8016: {
    text: 'cannot install {component} {version}: the agent does not install type {type}',
    next: 'use type Package, Script or OS',
  },
  KN8017: {
    text: 'cannot configure {component}: ComponentConfig {name} does not match its digest',
    next: 'commit the configuration again; its content never changes',
  },
  KN8018: {
    text: 'cannot install {component} {version}: no artifact for {os}/{arch}',
    next: 'publish an artifact for this platform',
  },
  KN8019: {
    text: 'cannot install {component} {version}: {why}',
    next: 'give the host what it lacks, or use a version that fits it',
  },
  KN8021: {
    text: 'cannot install {component} {version}: {path} is not a plain path',
    next: 'use a path without .. in the component',
  },
  KN8021_value: {
    text: 'cannot render {path} of {component} {version}: {why}',
    next: 'add the value in fleet/',
  },
  KN8023: {
    text: 'cannot install {component}: {first} is not managed by KubeNode',
    next: 'run kubenode adopt {machine} to keep the original and replace it, or move it away; retried within seconds',
  },
  KN8024: {
    text: 'cannot configure {component}: the secret value at {path} is not available: {why}',
    next: 'check the sealed value; retried automatically',
  },
  KN8025: {
    text: 'cannot configure {component}: this node has no key that opens secret values',
    next: 'join the machine again to create its key',
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
    text: 'cannot stop {component}: process {pid} is stuck in the kernel',
    next: 'the node may need a reboot',
  },
  KN8032: {
    text: 'cannot start {component}: its service names a systemd unit, but this node does not run systemd',
    next: 'use service.exec, or a host with systemd',
  },
  KN8033: {
    text: 'cannot run the hook {program}: {why}: {output}',
    next: 'correct the hook of the component',
  },
  KN8033_hung: {
    text: 'cannot run the hook {program}: {why}, and process {pid} does not end although it was killed',
    next: 'see what it waits for in /proc/{pid}/stack, often a disk or a network file system',
  },
  KN8033_left: {
    text: 'cannot run a hook of {component}: process {pid} of an earlier one was killed and has not ended',
    next: 'see what it waits for in /proc/{pid}/stack; retried once it has ended',
  },
  KN8034: {
    text: 'cannot start {component}: user {user} does not exist on this node',
    next: 'create the user in the preInstall hook',
  },
  KN8035: {
    text: 'cannot start {component}: it must run as {user}, but the agent is not root (uid {self}) and cannot change users',
    next: 'run the agent as root, or drop service.user',
  },
  KN8021_control: {
    text: 'cannot write a unit: {text} contains a control character',
    next: 'remove it from the component',
  },
  KN8037: {
    text: 'cannot run systemctl {command}: {answer}',
    next: 'retried automatically',
  },
  KN8032_unit: {
    text: 'cannot start {component}: systemd has no unit {unit} (load state: {load})',
    next: 'ship the unit with the component, or set service.exec',
  },
  KN8039: {
    text: 'cannot start {component}: unit {unit} belongs to component {owner}',
    next: 'use another unit name, or remove that component first',
  },
  KN1000_event: {
    text: 'cannot {event} {component} in state {from}: {refusal}',
    next: 'this is a bug',
  },
  KN1000_record: {
    text: 'cannot write the record of {component}: it is inconsistent',
    next: 'this is a bug',
  },
  KN1000_noRecord: {
    text: 'cannot switch {component}: it has no record',
    next: 'this is a bug',
  },
  KN8037_slot: {
    text: 'cannot use {component} {version}: slot {id} is incomplete',
    next: 'the component is installed again',
  },
  KN8023_folder: {
    text: 'cannot restore {path} of {component}: a folder is in its place',
    next: 'move the folder away',
  },
  KN8045: {
    text: 'cannot restore {path} of {component}: the node has no intact copy',
    next: 'reinstall the component',
  },
  KN8003_supervisor: {
    text: 'cannot switch the agent: its supervisor did not start it',
    next: 'run the line of kubenode machine join-command on the host again',
  },
  KN8051: {
    text: 'cannot switch the agent: {gaveUp}',
    next: 'commit another version of the agent',
  },
  KN8005_known: {
    text: 'cannot join as {machine} of {cluster}: this host already has {knownIdentity} in {state}',
    next: 'to turn this host into another machine, hand it back first with {leave}; never remove that folder, which holds the originals of adopted files',
  },
  KN8053: {
    text: 'cannot join or leave: the agent must run as root',
    next: 'run this command with sudo',
  },
  KN8005_again: {
    text: 'cannot join again as {machine} of {cluster}: this host is {joinedMachine} of {joinedCluster}',
    next: 'to turn this host into another machine, hand it back first with kubenode agent leave; never remove {state}, which holds the originals of adopted files',
  },
  KN8055: {
    text: 'cannot start {component}: unit {unit} is masked',
    next: 'to allow it to start, run systemctl unmask {unit} on the node',
  },
  KN3074_agent: {
    text: 'the agent keeps its configuration: {path} is refused: {why}',
    next: 'put this into {hostFile} beside it, which only an administrator of the host writes',
  },
  KN8021_host: {
    text: 'cannot use the path {path}: it has a part ..',
    next: 'name the file by its absolute path',
  },
  KN8014_missing: {
    text: 'cannot {what}: {which} not found',
    next: 'commit it to the fleet',
  },
  KN8061: {
    text: 'the API server refuses the certificate of machine {machine} (valid until {until}); its agent proved its key and waits for a person',
    next: 'run kubenode machine readmit {machine} with a kubeconfig of the cluster; nothing is needed on this host',
  },
  KN8008_refused: {
    text: 'the API server refuses the certificate of machine {machine} (valid until {until}), and it cannot come back by itself: {why}',
    next: 'run kubenode machine readmit {machine} --token with a kubeconfig of the cluster, then the line of kubenode machine join-command {machine} on this host',
  },
  KN8008_noToken: {
    text: 'there is no token for the key of machine {machine}',
    next: 'retried automatically; if the machine was revoked, or its host handed back, run kubenode machine readmit {machine} --token, then the line of kubenode machine join-command {machine} on this host',
  },
  KN8037_copy: {
    text: 'cannot copy {path}: its content changed meanwhile',
    next: 'retried automatically',
  },
  KN1112_leave: {
    text: 'cannot leave: there is no agent in {folder}',
    next: 'run this on the host of the node; where its folders are elsewhere, name them with --root and --agent',
  },
  KN8073: {
    text: 'the agent has not left this host yet',
    next: 'see journalctl -u {unit}; it continues by itself',
  },
  KN8023_adoptFolder: {
    text: 'cannot adopt {path} for {component}: it is a folder or a device',
    next: 'use another path in the component, or move it away; retried within seconds',
  },
  KN1006_host: {
    text: 'cannot join: Node.js does not start on this host: {why}',
    next: 'install what it names, such as libatomic1 (Debian, Ubuntu) or libatomic (RHEL, Fedora), then join again',
  },
  KN8003_expired: {
    text: 'cannot join: this line was valid until {until}, and the clock of this host is at {now}',
    next: 'print a new one with kubenode machine join-command {machine}, or correct the clock',
  },
  KN1408_join: {
    text: 'cannot join: this line was printed at {printed}, and the clock of this host is at {now}',
    next: 'set the clock, for example with timedatectl set-ntp true, then run the line again',
  },
  KN8082: {
    text: 'cannot join: {url} cannot be downloaded',
    next: 'this host must reach it (artifacts.address of install), directly or with HTTPS_PROXY and NO_PROXY; without a way, print the line with --offline',
  },
  KN8083: {
    text: 'cannot join: {url} has a certificate that this line does not trust',
    next: 'another server answers there, or a proxy that opens connections: print the line again, and compare artifacts.address of install with that server',
  },
  KN8084: {
    text: 'cannot join: {file} is not the file that was expected (wrong SHA-256)',
    next: 'serve join.sh and archives of one run of kubenode agent bundle, set artifacts.joinScript of install to its join.sh, then print the line again',
  },
  KN8085: {
    text: 'cannot join: this host has no {program}',
    next: 'install or copy it, then run the line again',
  },
  KN1051_arch: {
    text: 'cannot join: there is no agent for {arch}',
    next: 'make one with kubenode agent bundle --node FILE, with a Node.js for these hosts',
  },
  KN8087: {
    text: 'cannot join: {folder} cannot be written: {why}',
    next: 'make room or make it writable; programs go to another folder with --prefix of kubenode machine join-command',
  },
  KN8088: {
    text: 'the agent is installed and has not joined: {why}',
    next: 'see journalctl -u kubenode-agent on this host and kubenode why machine/{machine}',
  },
  KN1002_joinOption: {
    text: 'cannot join with {option}: {why}',
    next: 'correct it in kubenode machine join-command',
  },
  KN1449_logRestart: {
    text: 'cannot continue the log: the agent restarted',
    next: 'run kubenode logs again',
  },
  KN1313_componentOfAgent: {
    text: 'cannot show the log of {component}: it is no component of this machine (components: {known})',
    next: 'name one of them',
  },
  KN8092: {
    text: 'cannot show the log of {component}: it runs no process of its own',
    next: 'see its state with kubenode describe machine/NAME',
  },
  KN8096: {
    text: 'cannot {what} {path} on the host over SSH: {why}',
    next: 'check its permissions and the room on its disk; it is tried again',
  },
  KN8096_components: {
    text: 'cannot tell what is installed: {folder} has {found} folders, more than {most}',
    next: 'remove from it on the host what KubeNode did not install',
  },
  KN8097: {
    text: 'cannot install {what}: {why}',
    next: 'correct the packages of the component, or what the host lacks; it is tried again',
  },
  KN8098: {
    text: 'cannot keep {component} {version}: the machine returned from its reboot, and {what}',
    next: 'read the console of the machine, or journalctl --list-boots and -b -1, for why the kernel did not stay; then publish another version',
  },
  KN8099: {
    text: 'cannot change the boot loader: {why}',
    next: 'give the boot loader what it lacks; until then the default boots',
  },
  KN1002_leaveOption: {
    text: 'cannot leave with {option}: {why}',
    next: 'nothing was done; correct it',
  },
  KN8087_component: {
    text: 'cannot write {path} on this host: {why}',
    next: 'make it writable or make room there, or use another path in the component',
  },
  KN8087_disk: {
    text: 'cannot write on this host: {why}',
    next: 'make room on its disks or make them writable; the agent tries again by itself',
  },
  KN8087_temporary: {
    text: 'cannot join: {folder} cannot be written: {why}',
    next: 'make room there, or set TMPDIR',
  },
})
