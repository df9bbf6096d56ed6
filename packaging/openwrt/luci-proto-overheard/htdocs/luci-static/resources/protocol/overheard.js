'use strict';
'require form';
'require network';

return network.registerProtocol('overheard', {
	getI18n: function() {
		return _('Overheard');
	},

	// The interface of the tunnel has the name of its section.
	getIfname: function() {
		return this._ubus('l3_device') || this.sid;
	},

	getOpkgPackage: function() {
		return 'overheard';
	},

	getPackageName: function() {
		return 'overheard';
	},

	isFloating: function() {
		return true;
	},

	isVirtual: function() {
		return true;
	},

	getDevices: function() {
		return null;
	},

	containsDevice: function(ifname) {
		return network.getIfnameOf(ifname) == this.getIfname();
	},

	renderFormOptions: function(s) {
		const o = s.taboption('general', form.DummyValue, '_overheard', _('Tunnel'));
		o.rawhtml = true;
		o.cfgvalue = function(section) {
			return '<a href="%s">%s</a>'.format(L.url('admin/network/overheard/tunnels'),
				_('Keys, addresses and peers of the tunnel %h').format(section));
		};
	}
});
