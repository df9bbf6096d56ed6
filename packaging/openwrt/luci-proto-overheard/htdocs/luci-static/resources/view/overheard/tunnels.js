'use strict';
'require form';
'require uci';
'require view';

// A choice of the tunnel that a section belongs to.
function ofTunnel(section) {
	const o = section.option(form.ListValue, 'tunnel', _('Tunnel'));
	uci.sections('overheard', 'tunnel').forEach(function(tunnel) {
		o.value(tunnel['.name']);
	});
	o.rmempty = false;
}

return view.extend({
	load: function() {
		return uci.load('overheard');
	},

	render: function() {
		const m = new form.Map('overheard', _('Overheard'),
			_('A tunnel that does not send again what the other end has. An interface of the protocol Overheard with the name of a tunnel makes it part of a firewall zone.'));
		let s, o;

		s = m.section(form.TypedSection, 'tunnel', _('Tunnels'));
		s.addremove = true;
		s.anonymous = false;

		o = s.option(form.Flag, 'enabled', _('Enabled'));
		o.default = o.enabled;
		o.rmempty = false;
		o = s.option(form.ListValue, 'role', _('Role'));
		o.value('station', _('Station: connects to its gateway'));
		o.value('gateway', _('Gateway: waits for stations'));
		o.value('relay', _('Relay: forwards between its peers'));
		o = s.option(form.DynamicList, 'addresses', _('Addresses'), _('Addresses inside the tunnel, with their prefix lengths'));
		o.datatype = 'cidr';
		o.rmempty = false;
		o = s.option(form.Value, 'listen', _('Listen'), _('Address and UDP port'));
		o.placeholder = '[::]:4780';
		o = s.option(form.Value, 'private_key_file', _('Private key'), _('The file, as `overheard keygen` writes it'));
		o.placeholder = '/etc/overheard/keys/private.key';
		o = s.option(form.Value, 'network_key_file', _('Key of the network'), _('The same file on all nodes'));
		o.placeholder = '/etc/overheard/keys/network.key';
		o = s.option(form.Value, 'mtu', _('MTU'));
		o.datatype = 'range(576, 9200)';
		o.optional = true;
		o = s.option(form.ListValue, 'when_down', _('While a peer is down'));
		o.value('closed', _('Refuse its packets'));
		o.value('open', _('Send its packets without the tunnel'));
		o.default = 'closed';

		s = m.section(form.GridSection, 'peer', _('Peers'));
		s.addremove = true;
		s.anonymous = true;
		ofTunnel(s);
		o = s.option(form.Value, 'name', _('Name'));
		o.rmempty = false;
		o = s.option(form.Value, 'public_key', _('Public key'));
		o.rmempty = false;
		o.modalonly = true;
		o = s.option(form.Value, 'endpoint', _('Endpoint'), _('Address and UDP port; empty where the peer connects to this node'));
		o.datatype = 'or(hostport, ipaddrport(1))';
		o.optional = true;
		o = s.option(form.DynamicList, 'allowed_ips', _('Addresses behind it'));
		o.datatype = 'cidr';
		o = s.option(form.Flag, 'relays', _('Is a relay'));
		o.modalonly = true;
		o = s.option(form.Value, 'keepalive_seconds', _('Keepalive, in seconds'));
		o.datatype = 'uinteger';
		o.optional = true;
		o.modalonly = true;

		s = m.section(form.GridSection, 'overhear', _('Overhearing'),
			_('Stations use packets that they hear of each other. It needs a network without WPA.'));
		s.addremove = true;
		s.anonymous = true;
		ofTunnel(s);
		o = s.option(form.Value, 'interface', _('Interface that hears'), _('In monitor mode, or on a shared wire'));
		o.optional = true;
		o = s.option(form.Value, 'slot_bits', _('Slots'), _('2 to this power'));
		o.datatype = 'range(14, 24)';
		o.placeholder = '18';

		s = m.section(form.GridSection, 'memory', _('Memory'));
		s.addremove = true;
		s.anonymous = true;
		ofTunnel(s);
		o = s.option(form.Value, 'mib', _('Memory, in MiB'), _('For all peers together. Unset: by the memory of this router'));
		o.datatype = 'range(4, 65536)';
		o.optional = true;

		return m.render();
	}
});
